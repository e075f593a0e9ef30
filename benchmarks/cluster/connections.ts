import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createStore } from '../../pipeline/store/clickhouse.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Replicas } from '../../test/rig/replicas/start.js'

/** How the connection of a statement breaks. */
export type Break = keyof typeof instead | Carried
/** Breaks of a statement that reaches the server: before it does, while it runs, or when it has ended. */
type Carried = keyof typeof answers

export interface Connections {
  /** Stores of the replicas behind a proxy that breaks connections. */
  readonly stores: Replicas['stores']
  /** Breaks the connection of the next statement. */
  breakNext(how: Break): void
  /** Waits until all statements have ended, those that were left too. */
  idle(): Promise<void>
  close(): Promise<void>
}

const page = '<html><body>502 Bad Gateway</body></html>'
/** A head is longer with the parameters of a statement. */
const headBytesMax = 1024 * 1024
/** A server takes a statement up so much later than its client has left. */
const lateMs = 40

/** Of a proxy, with a status that a server has, too. */
const sendPage = (response: ServerResponse, status: number): void => {
  response.writeHead(status, { 'Content-Type': 'text/html' }).end(page)
}

/** What a client gets whose statement reaches no server. */
const instead = {
  unsent: (response) => void response.destroy(),
  'page before': (response) => sendPage(response, 502),
  'page of success before': (response) => sendPage(response, 200),
} as const satisfies Record<string, (response: ServerResponse) => void>

/** What a client gets once its statement has ended. */
const answers = {
  late: () => undefined,
  left: (response) => void response.destroy(),
  unanswered: (response) => void response.destroy(),
  page: (response) => sendPage(response, 502),
  'page of success': (response) => sendPage(response, 200),
  'late error': (response, answer) =>
    response
      .writeHead(200, {
        'X-ClickHouse-Query-Id': String(answer.headers['x-clickhouse-query-id']),
        'X-ClickHouse-Exception-Code': '319',
      })
      .end('Code: 319. DB::Exception: drawn. (UNKNOWN_STATUS_OF_INSERT)\n'),
} as const satisfies Record<string, (response: ServerResponse, answer: IncomingMessage) => void>

export const breaks = [...Object.keys(instead), ...Object.keys(answers)] as readonly Break[]
const isCarried = (how: Break): how is Carried => how in answers

export async function createConnections(world: Replicas, profile: Profile): Promise<Connections> {
  const next: Break[] = []
  const running = new Set<Promise<void>>()
  const agent = new Agent({ keepAlive: true })
  const engineUrl = world.stores.r1.address.url
  const forward = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const how = next.shift()
    response.on('error', () => undefined)
    const body = await buffer(incoming)
    if (how !== undefined && !isCarried(how)) return instead[how](response)
    if (how === 'late') {
      response.destroy()
      await sleep(lateMs)
    }
    const { method, headers } = incoming
    const outgoing = request(new URL(incoming.url ?? '/', engineUrl), { agent, method, headers })
    const ended = once(outgoing, 'close')
    outgoing.on('error', () => response.destroy())
    outgoing.on('response', (answer) => {
      if (how === undefined) {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
        return
      }
      answer.resume().once('end', () => answers[how](response, answer))
    })
    if (how === 'left') outgoing.once('finish', () => response.destroy())
    outgoing.end(body)
    await ended
  }
  const carry = (incoming: IncomingMessage, response: ServerResponse): void => {
    const carried = forward(incoming, response).catch(() => void response.destroy())
    running.add(carried)
    void carried.then(() => running.delete(carried))
  }
  const server = createServer({ maxHeaderSize: headBytesMax, requestTimeout: 0 }, carry)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const storeOf = (replica: keyof Replicas['stores']) =>
    createStore({ ...world.stores[replica].address, url }, 'verbatim', profile.store)
  const stores = { r1: storeOf('r1'), r2: storeOf('r2') }
  return {
    stores,
    breakNext: (how) => void next.push(how),
    idle: async () => void (await Promise.all(running)),
    close: async () => {
      await Promise.all(Object.values(stores).map((store) => store.close()))
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      agent.destroy()
    },
  }
}

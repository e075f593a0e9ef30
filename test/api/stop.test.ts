import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest, Agent as SecureAgent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createHttpsListener } from '../../api/listeners/https.js'
import type { Listener } from '../../api/listeners/listener.js'
import { createUwsListener } from '../../api/listeners/uws.js'
import { createRequestIds } from '../../api/request.js'
import { demoCertificates } from '../../infra/demo/certificates.js'
import { createFolder } from '../rig/folder.js'
import { sample } from '../rig/sample.js'
import { freePort } from './identity/provider.js'
import { echo, limits, refuse } from './listeners/conformance.js'

const stops = sample({ short: 25, long: 100 })
/** A stop waits more than it works: so many go on at once. */
const lanes = 5
const clients = 12

/** What a client knows of one request: when it was sent in full, and whether it was answered. */
interface Sent {
  at: number
  status: number | undefined
}

interface Kind {
  readonly agent: Agent
  listen(): Promise<Listener>
  request: typeof httpRequest
}

const shared = {
  // Whatever a busy machine takes: only the stop itself may lose a request.
  limits: { ...limits, bodyMsMax: 120_000, stopMsMax: 120_000 },
  requestsPerSecondMax: 1_000_000,
  handle: (request: Parameters<typeof echo>[0]) =>
    request.path === '/soon' ? sleep(5).then(() => echo(request)) : echo(request),
  refuse,
  requestId: createRequestIds('stop'),
  onFailure: () => undefined,
}
const pool = { keepAlive: true, maxSockets: clients }
const { certFile, keyFile, caFile, clientCertFile, clientKeyFile } = demoCertificates(
  createFolder(t),
)
const certificate = {
  ca: readFileSync(caFile),
  cert: readFileSync(clientCertFile),
  key: readFileSync(clientKeyFile),
}

const kinds: Readonly<Record<string, () => Promise<Kind>>> = {
  uWebSockets: async () => {
    const settings = { host: '127.0.0.1', port: await freePort(), allow: [] }
    return {
      agent: new Agent(pool),
      listen: () => createUwsListener({ settings, ...shared }),
      request: httpRequest,
    }
  },
  'node:https': async () => {
    const tls = { certFile, keyFile, clientCaFile: caFile }
    const settings = { host: '127.0.0.1', port: 0, clients: [], allow: [], tls }
    return {
      agent: new SecureAgent({ ...pool, ...certificate }),
      listen: () => createHttpsListener({ settings, ...shared }),
      request: httpsRequest as typeof httpRequest,
    }
  },
}

for (const [name, create] of Object.entries(kinds)) {
  t.test(`${name}: no request that came in full before a stop goes unanswered`, async (t) => {
    let [lost, answered, begun] = [0, 0, 0]
    const lane = async () => {
      while (begun < stops) {
        const sent = await stopUnderLoad(await create(), begun++)
        const good = sent.filter(({ status }) => status === 200).length
        answered += good
        lost += sent.length - good
      }
    }
    await Promise.all(Array.from({ length: lanes }, lane))
    t.equal(lost, 0)
    t.ok(answered > stops * clients, `${answered} were answered`)
  })
}

/** The requests that were sent in full before the listener stopped. */
async function stopUnderLoad(kind: Kind, stop: number): Promise<readonly Sent[]> {
  const listener = await kind.listen()
  const sent: Sent[] = []
  let isOver = false
  const drive = async (path: string) => {
    while (!isOver) await ask(kind, { port: listener.port, path }, sent)
  }
  const driven = Array.from({ length: clients }, (_, at) => drive(at % 2 ? '/soon' : '/now'))
  while (sent.length < 2 * clients) await sleep(5)
  await sleep(stop % 10)
  const asked = performance.now()
  await listener.close()
  isOver = true
  await Promise.all(driven)
  kind.agent.destroy()
  return sent.filter(({ at }) => at < asked)
}

function ask({ agent, request }: Kind, where: RequestOptions, sent: Sent[]): Promise<void> {
  return new Promise((resolve) => {
    const one: Sent = { at: Number.POSITIVE_INFINITY, status: undefined }
    const asked = request({ host: '127.0.0.1', agent, ...where }, (response) => {
      one.status = response.statusCode
      response.resume()
      response.once('close', resolve)
    })
    asked.once('error', () => setTimeout(resolve, 1))
    asked.once('finish', () => {
      one.at = performance.now()
      sent.push(one)
    })
    asked.end()
  })
}

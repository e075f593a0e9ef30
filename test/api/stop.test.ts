import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createUwsListener } from '../../api/listeners/uws.js'
import { createRequestIds } from '../../api/request.js'
import { freePort } from './identity/provider.js'
import { echo, limits, refuse } from './listeners/conformance.js'

const stops = 100
const clients = 12

/** What a client knows of one request: when it was sent in full, and whether it was answered. */
interface Sent {
  at: number
  status: number | undefined
}

t.test(
  'no request that came in full before a stop goes unanswered, in 100 stops under load',
  async (t) => {
    const lost: number[] = []
    let answered = 0
    for (let stop = 0; stop < stops; stop++) {
      const port = await freePort()
      const listener = await createUwsListener({
        settings: { host: '127.0.0.1', port, allow: [] },
        limits: { ...limits, stopMsMax: 10_000 },
        requestsPerSecondMax: 1_000_000,
        handle: (request) =>
          request.path === '/soon' ? sleep(5).then(() => echo(request)) : echo(request),
        requestId: createRequestIds('stop'),
        refuse,
        onFailure: () => undefined,
      })
      const agent = new Agent({ keepAlive: true, maxSockets: clients })
      const sent: Sent[] = []
      let isOver = false
      const drive = async (path: string) => {
        while (!isOver) await ask({ port, agent, path }, sent)
      }
      const driven = Array.from({ length: clients }, (_, at) => drive(at % 2 ? '/soon' : '/now'))
      await sleep(20 + (stop % 10))
      // What the clients have handed to the system by now is read before the listener closes.
      const asked = performance.now()
      await sleep(2)
      const closed = listener.close()
      await closed
      isOver = true
      await Promise.all(driven)
      agent.destroy()
      const before = sent.filter(({ at }) => at < asked)
      answered += before.filter(({ status }) => status === 200).length
      lost.push(before.filter(({ status }) => status !== 200).length)
    }
    t.equal(
      lost.reduce((sum, count) => sum + count, 0),
      0,
    )
    t.ok(answered > stops * clients, `${answered} were answered`)
  },
)

interface Where {
  readonly port: number
  readonly agent: Agent
  readonly path: string
}

function ask({ port, agent, path }: Where, sent: Sent[]): Promise<void> {
  return new Promise((resolve) => {
    const request = httpRequest({ host: '127.0.0.1', port, agent, path }, (response) => {
      one.status = response.statusCode
      response.resume()
      response.once('close', resolve)
    })
    const one: Sent = { at: Number.POSITIVE_INFINITY, status: undefined }
    request.once('error', () => setTimeout(resolve, 1))
    request.once('finish', () => {
      one.at = performance.now()
      sent.push(one)
    })
    request.end()
  })
}

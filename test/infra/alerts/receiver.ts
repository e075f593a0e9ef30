import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AlertMessage, alertSchema } from '../../../schemas/settings/alert.js'

/** An alert receiver that follows the documentation. */
export interface Receiver {
  readonly url: string
  readonly secret: string
  /** All messages received, with repetitions. */
  readonly messages: readonly AlertMessage[]
  /** The status sent for a message, 204 by default. Undefined: no response. */
  answer: (message: AlertMessage) => number | undefined
  close(): Promise<void>
}

const secondsApartMax = 300

/** Refuses a message with a wrong signature. */
export async function createReceiver(): Promise<Receiver> {
  const secret = 'a secret of forty characters and no more'
  const messages: AlertMessage[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += piece
    const header = String(request.headers['tieline-signature'])
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? []
    const right = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')
    const isFresh = Math.abs(Date.now() / 1_000 - Number(t)) < secondsApartMax
    if (v1 !== right || !isFresh) return response.writeHead(401).end()
    const message = alertSchema.parse(JSON.parse(body))
    messages.push(message)
    const status = receiver.answer(message)
    if (status !== undefined) response.writeHead(status).end()
    return response
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`,
    secret,
    messages,
    answer: () => 204,
    close: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
  return receiver
}

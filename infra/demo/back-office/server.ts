import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

/** Faults that `POST /faults` injects into a server of the simulated utility. */
const faultSchema = z.strictObject({
  kind: z.enum([
    'none',
    'down',
    'slow',
    'late',
    'hang',
    'garbage',
    'html',
    'huge',
    'empty',
    'refuse',
    'missing',
  ]),
  /** Delay in milliseconds: of every response with `slow`, of an action's response with `late`. */
  ms: z.int().min(0).max(600_000).default(2_000),
  /** The field that `missing` omits. */
  field: z.string().optional(),
})
export type OfficeFault = z.output<typeof faultSchema>

/** Its port, and the seed and number of its customers. */
export interface OfficeSettings {
  readonly port: number
  readonly seed: number
  readonly count: number
}

export interface OfficeRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: unknown
}

export interface OfficeAnswer {
  readonly status: number
  /** Sent as JSON unless `type` is set. */
  readonly body: unknown
  /** Content type of a text body. */
  readonly type?: string
}

export interface OfficeServer {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

const hugeBytes = 64 * 1024 * 1024
const bodyBytesMax = 1024 * 1024

/** A server of the simulated utility on loopback, with injectable faults. */
export async function createOfficeServer(
  port: number,
  answer: (request: OfficeRequest, fault: OfficeFault) => OfficeAnswer | Promise<OfficeAnswer>,
): Promise<OfficeServer> {
  let fault: OfficeFault = { kind: 'none', ms: 0 }
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const serve = async () => {
      const body = await readJson(request)
      if (pathname === '/faults' && request.method === 'POST') {
        fault = faultSchema.parse(body)
        return send(response, { status: 200, body: fault })
      }
      if (await spoil(response, fault)) return
      const asked = { method: request.method ?? '', path: pathname, query: searchParams, body }
      send(response, await answer(asked, fault))
    }
    serve().catch((error: unknown) =>
      send(response, { status: 400, body: { error: String(error) } }),
    )
  })
  server.keepAliveTimeout = 60_000
  server.listen({ host: '127.0.0.1', port })
  await once(server, 'listening')
  const address = server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : port
  return {
    url: `http://127.0.0.1:${taken}`,
    port: taken,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Applies the fault; false if a normal response is still due. */
async function spoil(response: ServerResponse, fault: OfficeFault): Promise<boolean> {
  switch (fault.kind) {
    case 'down':
      response.destroy()
      return true
    case 'hang':
      return true
    case 'garbage':
      response.end('{"clientId": "7')
      return true
    case 'html':
      response.setHeader('Content-Type', 'text/html')
      response.end('<html><body>Sign in</body></html>')
      return true
    case 'huge':
      response.end(`{"filler":"${'x'.repeat(hugeBytes)}"}`)
      return true
    case 'empty':
      send(response, { status: 200, body: {} })
      return true
    case 'slow':
      await sleep(fault.ms)
      return false
    default:
      return false
  }
}

function send(response: ServerResponse, { status, body, type }: OfficeAnswer): void {
  if (response.destroyed || response.writableEnded) return
  response.statusCode = status
  response.setHeader('Content-Type', type ?? 'application/json')
  response.end(type === undefined ? JSON.stringify(body) : String(body))
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const piece of request) {
    text += piece
    if (text.length > bodyBytesMax) throw new Error('the request body is too long')
  }
  return text === '' ? undefined : JSON.parse(text)
}

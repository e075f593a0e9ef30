import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as SecureAgent, request as secureRequest } from 'node:https'
import { Fault, type FaultCode } from '../schemas/fault.js'
import type { HeaderSettings } from '../schemas/settings/gateway-cis.js'
import type { SecretReference } from '../schemas/settings/secret.js'

export interface HttpClientOptions {
  /** Which fault a call that fails is. */
  readonly fault: FaultCode
  /** What is called, for the fault's detail. */
  readonly name: string
  /** From the call to the last byte received. */
  readonly timeoutMs: number
  /**
   * The time begins when a call has its connection: waiting for one of the pool is no failure of the
   * server's. Only where whoever waits for the call has a limit of his own.
   */
  readonly mayQueue?: boolean
  readonly connectionsMax: number
  readonly answerBytesMax: number
  /** Authorities that are trusted instead of the system's, PEM. */
  readonly caFile?: string | undefined
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Of the body; default JSON. */
  readonly type?: string
}

export interface HttpResponse {
  readonly status: number
  readonly type: string
  readonly text: string
}

export interface HttpClient {
  send(call: HttpRequest): Promise<HttpResponse>
  close(): void
}

/**
 * Calls one server of the utility's over a pool of connections that are kept. Redirects are not
 * followed, and an answer is cut off where it passes its limit or its time; either is a fault.
 * Throws `PROFILE` where caFile cannot be used.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const pool = { keepAlive: true, maxSockets: options.connectionsMax, maxFreeSockets: 64 }
  const ca = options.caFile === undefined ? {} : { ca: readAuthorities(options.caFile) }
  const agents = { 'http:': new PlainAgent(pool), 'https:': new SecureAgent({ ...pool, ...ca }) }
  return {
    send: async (call) => {
      const url = new URL(call.url)
      try {
        return await exchange(url, call, {
          ...options,
          agent: url.protocol === 'https:' ? agents['https:'] : agents['http:'],
        })
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause)
        const place = `${options.name} at ${url.origin}`
        throw new Fault(options.fault, `${place} gave no answer (${reason})`, { cause })
      }
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

/** Read once: a file that holds no certificate would be a refusal of every server, without a word. */
function readAuthorities(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8')
    new X509Certificate(pem)
    return pem
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('PROFILE', `caFile: ${path} holds no certificate (${reason})`, { cause })
  }
}

type Exchange = HttpClientOptions & { readonly agent: PlainAgent | SecureAgent }

function exchange(url: URL, call: HttpRequest, options: Exchange): Promise<HttpResponse> {
  const send = url.protocol === 'https:' ? secureRequest : plainRequest
  const body = call.body === undefined ? undefined : Buffer.from(call.body)
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method: call.method,
      agent: options.agent,
      headers: {
        Accept: 'application/json',
        'Accept-Encoding': 'identity',
        ...(body && {
          'Content-Type': call.type ?? 'application/json',
          'Content-Length': body.length,
        }),
        ...call.headers,
      },
    })
    let late: NodeJS.Timeout | undefined
    const watch = () => {
      late = setTimeout(() => {
        request.destroy(new Error(`not within ${options.timeoutMs} ms`))
      }, options.timeoutMs)
    }
    if (options.mayQueue) request.once('socket', watch)
    else watch()
    const end = (settle: () => void) => {
      clearTimeout(late)
      settle()
    }
    request.once('error', (error) => end(() => reject(error)))
    request.once('response', (response) => {
      readBody(response, options.answerBytesMax).then(
        (text) => {
          const type = response.headers['content-type'] ?? ''
          end(() => resolve({ status: response.statusCode ?? 0, type, text }))
        },
        (error: unknown) => {
          request.destroy()
          end(() => reject(error))
        },
      )
    })
    request.end(body)
  })
}

async function readBody(response: IncomingMessage, bytesMax: number): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bytesMax) throw new Error(`more than ${bytesMax} bytes`)
    pieces.push(piece)
  }
  if (!response.complete) throw new Error('it was cut off')
  return Buffer.concat(pieces).toString('utf8')
}

/** The object that an answer holds; undefined where it is no JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

/** Header fields with their secrets in place. */
export function resolveHeaders(
  headers: HeaderSettings,
  secret: (reference: SecretReference) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : secret(value),
    ]),
  )
}

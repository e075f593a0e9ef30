import { isUtf8 } from 'node:buffer'
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { type AgentOptions, Agent as SecureAgent, request as secureRequest } from 'node:https'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type KeyPairFiles, readKeyPair } from '../pipeline/tls-files.js'
import { Fault, type FaultCode } from '../schemas/fault.js'
import { createFairQueue } from './fair-queue.js'
import { createSemaphore } from './semaphore.js'

export interface HttpClientOptions {
  /** The fault code of a failed request. */
  readonly fault: FaultCode
  /** Name of the server in error messages. */
  readonly name: string
  /** From the request to the last byte of the response. */
  readonly timeoutMs: number
  /**
   * Start the time-out when a connection is free: waiting for one is not a failure of the server. Use
   * it only if the caller has a deadline of its own.
   */
  readonly mayQueue?: boolean
  readonly connectionsMax: number
  readonly answerBytesMax: number
  /** PEM file of authorities to trust instead of the system's. */
  readonly caFile?: string | undefined
  /** PEM files of a certificate to show to the server, and of its key. */
  readonly clientCertificate?: KeyPairFiles | undefined
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Content type of the body; JSON by default. */
  readonly type?: string
  /** Whether sending it twice has the effect of sending it once; GET has. */
  readonly isIdempotent?: boolean
}

export interface HttpResponse {
  readonly status: number
  readonly type: string
  readonly text: string
  /** Whether the body is UTF-8; other bytes are replaced in `text`. */
  readonly isUtf8: boolean
  /**
   * Whether the server stated where the body ends, by a length or by chunks. A body that ends with its
   * connection may have been cut.
   */
  readonly isWhole: boolean
}

export interface HttpClient {
  send(call: HttpRequest): Promise<HttpResponse>
  close(): void
}

/**
 * Calls one server of the utility over a pool of persistent connections. It follows no redirects. A
 * response that exceeds its size or time limit is a fault. Throws `PROFILE` if a certificate file is
 * unusable.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const pool = { keepAlive: true, maxSockets: options.connectionsMax, maxFreeSockets: 64 }
  const ca = options.caFile === undefined ? {} : { ca: readAuthorities(options.caFile) }
  const agents = {
    'http:': new PlainAgent(pool),
    'https:': createSecureAgent({ ...pool, ...ca }, options.clientCertificate),
  }
  const begin = options.mayQueue ? createTurns(options.connectionsMax) : beginAtOnce
  return {
    send: async (call) => {
      const url = new URL(call.url)
      const agent = url.protocol === 'https:' ? agents['https:'] : agents['http:']
      const end = await begin()
      try {
        return await exchange(url, call, { ...options, agent })
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause)
        const detail = `no response from ${options.name} at ${url.origin} (${reason})`
        throw new Fault(options.fault, detail, { cause })
      } finally {
        end()
      }
    },
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

/** Waits for its turn; the result ends it. */
type Begin = () => Promise<() => void>

const beginAtOnce: Begin = async () => () => undefined

/**
 * At most so many calls at once, and few begin in a turn of the event loop: as many responses come together as
 * calls were sent together, and each is read before anything else is done.
 */
function createTurns(callsMax: number): Begin {
  const free = createSemaphore(callsMax)
  const queue = createFairQueue()
  return async () => {
    const release = (await free.acquire()) as () => void
    await queue()
    return release
  }
}

/** Checks the file at start: without a certificate every server would be rejected silently. */
export function readAuthorities(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8')
    new X509Certificate(pem)
    return pem
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('PROFILE', `caFile: ${path} does not contain a certificate (${reason})`, {
      cause,
    })
  }
}

/** Each new connection shows the certificate as it is then; while its files do not match, the last good one. */
function createSecureAgent(pool: AgentOptions, files?: KeyPairFiles): SecureAgent {
  if (files === undefined) return new SecureAgent(pool)
  // A resumed session would go on under the certificate with which it began.
  const agent = new SecureAgent({ ...pool, maxCachedSessions: 0 })
  let pair = readPair(files)
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, done) => {
    pair = renewed(files) ?? pair
    return connect({ ...options, ...pair }, done)
  }
  return agent
}

/** Undefined while the files do not match, as in the middle of a renewal. */
function renewed(files: KeyPairFiles): ReturnType<typeof readKeyPair> | undefined {
  try {
    return readPair(files)
  } catch {
    return undefined
  }
}

/** Throws `PROFILE` unless the files hold a certificate and its key. */
export function readPair({ certFile, keyFile }: KeyPairFiles): ReturnType<typeof readKeyPair> {
  try {
    return readKeyPair({ certFile, keyFile })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const detail = `clientCertificate: ${certFile} and ${keyFile} are not usable: ${reason}`
    throw new Fault('PROFILE', detail, { cause })
  }
}

type Exchange = HttpClientOptions & { readonly agent: PlainAgent | SecureAgent }

/**
 * Sends an idempotent request again when its connection of the pool turns out to be closed: the server
 * may close an idle one at the moment at which it is used. Each attempt takes one such connection out of
 * the pool, so that the last one has a new connection.
 */
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
        request.destroy(new Error(`timed out after ${options.timeoutMs} ms`))
      }, options.timeoutMs)
    }
    if (options.mayQueue) request.once('socket', watch)
    else watch()
    const end = (settle: () => void) => {
      clearTimeout(late)
      settle()
    }
    request.once('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && /^(ECONNRESET|EPIPE)$/.test(error.code ?? '')
      const again = isStale && (call.method === 'GET' || call.isIdempotent)
      end(() => (again ? resolve(exchange(url, call, options)) : reject(error)))
    })
    let isAnswered = false
    request.once('close', () => {
      // Node reports no error where the server changes the protocol, unasked.
      if (!isAnswered) end(() => reject(new Error('the connection was closed')))
    })
    request.once('response', (response) => {
      isAnswered = true
      readBody(response, options.answerBytesMax).then(
        (body) => {
          // RFC 8259, section 8.1: some servers of .NET begin with a byte order mark.
          const text = body.toString('utf8').replace(/^\uFEFF/, '')
          const { statusCode: status = 0, headers } = response
          const type = headers['content-type'] ?? ''
          const isWhole = (headers['content-length'] ?? headers['transfer-encoding']) !== undefined
          end(() => resolve({ status, type, text, isUtf8: isUtf8(body), isWhole }))
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

async function readBody(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bytesMax) throw tooLong(bytesMax)
    pieces.push(piece)
  }
  if (!response.complete) throw new Error('the response was cut off')
  const body = Buffer.concat(pieces)
  const isPacked = /^(x-)?gzip$/i.test(response.headers['content-encoding'] ?? '')
  return isPacked && bytes > 0 ? unpackBody(body, bytesMax) : body
}

const unpack = promisify<Buffer, object, Buffer>(gunzip)

/** A body that was compressed although only the plain one is asked for, as some proxies do. */
async function unpackBody(body: Buffer, bytesMax: number): Promise<Buffer> {
  try {
    return await unpack(body, { maxOutputLength: bytesMax })
  } catch (cause) {
    const isLong = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    throw isLong ? tooLong(bytesMax) : cause
  }
}

const tooLong = (bytesMax: number) => new Error(`more than ${bytesMax} bytes`)

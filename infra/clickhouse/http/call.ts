import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { stringLiteral } from '../sql/statement.js'
import { exceptionOf } from './exception.js'

/** One HTTP request parsed as ClickHouse does: a query with its settings and parameters. */
export interface Call {
  readonly query: string
  readonly queryId: string
  /** Whether it came by POST: nothing else may change data. */
  readonly isPosted: boolean
  readonly database: string | undefined
  readonly format: string
  /** Of ClickHouse's protocol, which decides how blocks of the Native format look; 0 if not given. */
  readonly protocolVersion: number
  readonly settings: readonly Pair[]
  /** The settings as items of a SET statement. */
  readonly set: readonly string[]
  readonly params: readonly Pair[]
  readonly session: SessionRequest | undefined
  /** Whether the result is completed before the first byte of the response. */
  readonly isWaiting: boolean
  /** Bytes of the result that the client wants held back, for the status of an early error. */
  readonly bufferBytes: number | undefined
  readonly isCompressing: boolean
  /** How often progress is reported in headers; undefined if it is not wanted. */
  readonly progressMs: number | undefined
  /** Whether the result is sent in ClickHouse's own compressed blocks. */
  readonly isInBlocks: boolean
}

export type Pair = readonly [name: string, value: string]

export interface SessionRequest {
  readonly id: string
  readonly mustExist: boolean
  readonly timeoutMs: number
}

/** Parameters of the interface itself; all others in the URL are settings of the engine. */
const ownNames = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'session_id',
  'session_check',
  'session_timeout',
  'close_session',
  'user',
  'password',
  'quota_key',
  'role',
  'stacktrace',
  'buffer_size',
  'http_response_buffer_size',
  'wait_end_of_query',
  'enable_http_compression',
  'http_zlib_compression_level',
  'client_protocol_version',
  'compress',
  'decompress',
])

const sessionTimeoutS = 60
const sessionTimeoutSMax = 3600

/** Parses a request; `fields` are those of its URL and of a multipart body. */
export function readCall(request: IncomingMessage, fields: URLSearchParams): Call {
  const one = (name: string): string | undefined => fields.get(name) ?? undefined
  if (isOn(one('decompress'))) {
    throw exceptionOf('NOT_IMPLEMENTED', 'decompress=1: send the body with Content-Encoding: gzip')
  }
  if (one('role')) {
    throw exceptionOf('UNKNOWN_ROLE', `Role ${one('role')}: roles follow from the user's name here`)
  }
  const settings: Pair[] = []
  const params: Pair[] = []
  for (const [name, value] of fields) {
    if (name.startsWith('param_')) params.push([name.slice(6), value])
    else if (!ownNames.has(name)) settings.push([name, hangsAt(name, value) ? '1' : value])
  }
  for (const [name] of [...settings, ...params]) {
    if (!/^\w+$/.test(name)) {
      throw exceptionOf('UNKNOWN_SETTING', `Unknown setting '${name}'`)
    }
  }
  const format = one('default_format') || headerOf(request, 'x-clickhouse-format') || 'TabSeparated'
  if (!/^\w+$/.test(format)) throw exceptionOf('UNKNOWN_FORMAT', `Unknown format ${format}`)
  const sessionId = one('session_id')
  return {
    query: one('query') ?? '',
    isPosted: request.method === 'POST',
    queryId: one('query_id') || headerOf(request, 'x-clickhouse-query-id') || randomUUID(),
    database: one('database') || headerOf(request, 'x-clickhouse-database'),
    format,
    protocolVersion: Number(one('client_protocol_version')) || 0,
    settings,
    set: settings
      .filter(([name]) => name !== 'log_comment')
      .map(([name, value]) => `${name} = ${stringLiteral(value)}`),
    params,
    session: sessionId ? sessionWish(sessionId, one) : undefined,
    isWaiting: isOn(one('wait_end_of_query')),
    bufferBytes: bufferBytesOf(one('http_response_buffer_size') ?? one('buffer_size')),
    isCompressing: isOn(one('enable_http_compression')) && acceptsGzip(request),
    isInBlocks: isOn(one('compress')),
    progressMs: progressMsOf(one),
  }
}

/** The embedded engine waits for ever where reports of progress follow each other without a pause. */
function hangsAt(name: string, value: string): boolean {
  return name === 'interactive_delay' && Number(value) === 0
}

/** The value of a header, in UTF-8 as ClickHouse reads it. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  const bytes = Buffer.from((Array.isArray(value) ? value[0] : value) ?? '', 'latin1')
  return bytes.toString('utf8') || undefined
}

function sessionWish(id: string, one: (name: string) => string | undefined): SessionRequest {
  const timeoutS = Number(one('session_timeout') ?? sessionTimeoutS)
  if (!(timeoutS >= 0 && timeoutS <= sessionTimeoutSMax)) {
    throw exceptionOf(
      'INVALID_SESSION_TIMEOUT',
      `Session timeout must be 0 to ${sessionTimeoutSMax} seconds, not ${timeoutS}`,
    )
  }
  return { id, mustExist: isOn(one('session_check')), timeoutMs: timeoutS * 1000 }
}

function bufferBytesOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  throw exceptionOf('BAD_ARGUMENTS', `A response buffer of '${value}' bytes: send a number`)
}

/** ClickHouse's default. */
const progressMsDefault = 100

function progressMsOf(one: (name: string) => string | undefined): number | undefined {
  if (!isOn(one('send_progress_in_http_headers'))) return undefined
  const ms = Number(one('http_headers_progress_interval_ms') ?? progressMsDefault)
  return ms > 0 && ms < 2 ** 31 ? ms : progressMsDefault
}

function acceptsGzip(request: IncomingMessage): boolean {
  return /\bgzip\b/.test(headerOf(request, 'accept-encoding') ?? '')
}

function isOn(value: string | undefined): boolean {
  return value === '1' || value === 'true'
}

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { constants, createGzip, gzip } from 'node:zlib'
import type { StatementOutcome } from '../engine.js'
import { toBlocks } from './blocks.js'
import { type Exception, statusOf } from './exception.js'

/** The response to one call: complete or streamed, optionally compressed, and able to fail late. */
export interface Reply {
  readonly isStarted: boolean
  readonly isGone: boolean
  set(name: string, value: string): void
  /** Sends a header at once, with the status 200; nothing if the head has been sent. */
  progress(figures: string): void
  /** Resolves when the client has room for more. */
  write(chunk: Buffer): Promise<void>
  end(body?: Buffer): Promise<void>
  fail(exception: Exception): Promise<void>
}

const breakMs = 500
/** A complete result is sent in parts, so that the time of the client counts for each of them. */
const partBytes = 256 * 1024

/**
 * @param wishes.sendMs how long the client may take nothing before its connection is closed; default:
 *   any time
 */
export function createReply(
  response: ServerResponse,
  wishes: {
    readonly isCompressing: boolean
    readonly isInBlocks?: boolean
    readonly sendMs?: number | undefined
  },
): Reply {
  const tag = randomBytes(8).toString('hex')
  const packer = wishes.isCompressing ? createGzip({ level: 3 }) : undefined
  const out = packer ?? response
  const framed = (bytes: Buffer): Buffer => (wishes.isInBlocks ? toBlocks(bytes) : bytes)
  let hasProgress = false
  const start = (): void => {
    beginHead()
    response.setHeader('X-ClickHouse-Exception-Tag', tag)
    if (packer === undefined) return
    response.setHeader('Content-Encoding', 'gzip')
    packer.pipe(response)
  }
  /** Behind progress, the status line of Node is the value of one more header. */
  const beginHead = (): void => {
    if (hasProgress) response.socket?.write('X-ClickHouse-Status: ')
  }
  const wishesOfEnd = { isPacked: packer !== undefined, sendMs: wishes.sendMs }
  const isGone = (): boolean => response.destroyed || response.writableEnded
  return {
    get isStarted() {
      return response.headersSent
    },
    get isGone() {
      return isGone()
    },
    set: (name, value) => void response.setHeader(name, value),
    progress: (figures) => {
      const { socket } = response
      if (isGone() || response.headersSent || socket === null) return
      const status = hasProgress ? '' : 'HTTP/1.1 200 OK\r\n'
      hasProgress = true
      socket.write(`${status}X-ClickHouse-Progress: ${figures}\r\n`)
    },
    write: async (chunk) => {
      if (isGone()) return
      if (!response.headersSent) {
        start()
        response.flushHeaders()
      }
      if (!out.write(framed(chunk))) await roomOrGone(out, response, wishes.sendMs)
    },
    end: async (body) => {
      if (isGone()) return
      if (response.headersSent) {
        endIn(response, wishes.sendMs)
        return void out.end(body === undefined ? undefined : framed(body))
      }
      beginHead()
      await endWhole(response, framed(body ?? Buffer.alloc(0)), wishesOfEnd)
    },
    fail: async (exception) => {
      if (isGone()) return
      if (!response.headersSent) {
        const text = Buffer.from(`${exception.text}\n`)
        const status = statusOf(exception)
        // Clients that ask for blocks expect the text of a refusal without them.
        response.statusCode = status
        response.setHeader('Content-Type', 'text/plain; charset=UTF-8')
        response.setHeader('X-ClickHouse-Exception-Code', String(exception.code))
        beginHead()
        return endWhole(response, status === 403 ? text : framed(text), wishesOfEnd)
      }
      endIn(response, wishes.sendMs)
      const trailer = framed(Buffer.from(lateTrailer(exception, tag)))
      if (packer !== undefined) {
        packer.write(trailer)
        packer.flush(constants.Z_SYNC_FLUSH, () => void breakOff(response))
        return
      }
      response.write(trailer, () => void breakOff(response))
    },
  }
}

async function roomOrGone(
  out: NodeJS.WritableStream,
  response: ServerResponse,
  sendMs: number | undefined,
): Promise<void> {
  const settled = new AbortController()
  const { signal } = settled
  const timer = sendMs === undefined ? undefined : setTimeout(() => response.destroy(), sendMs)
  await Promise.race([once(out, 'drain', { signal }), once(response, 'close', { signal })])
  settled.abort()
  clearTimeout(timer)
}

/** Closes the connection if the client does not take the rest in time. */
function endIn(response: ServerResponse, sendMs: number | undefined): void {
  if (sendMs === undefined) return
  const timer = setTimeout(() => response.destroy(), sendMs)
  response.once('finish', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
}

async function endWhole(
  response: ServerResponse,
  body: Buffer,
  { isPacked, sendMs }: { readonly isPacked: boolean; readonly sendMs: number | undefined },
): Promise<void> {
  const packs = isPacked && body.length > 0
  if (packs) response.setHeader('Content-Encoding', 'gzip')
  const bytes = packs ? await promisify(gzip)(body, { level: 3 }) : body
  response.setHeader('Content-Length', bytes.length)
  let at = 0
  for (; bytes.length - at > partBytes && !response.destroyed; at += partBytes) {
    const hasRoom = response.write(bytes.subarray(at, at + partBytes))
    if (!hasRoom) await roomOrGone(response, response, sendMs)
  }
  if (response.destroyed) return
  endIn(response, sendMs)
  response.end(bytes.subarray(at))
}

/** The trailer that ClickHouse sends since 25.11 if a query fails after the first byte. */
function lateTrailer(exception: Exception, tag: string): string {
  const text = `${exception.text}\n`
  return `\r\n__exception__\r\n${tag}\r\n${text}${Buffer.byteLength(text)} ${tag}\r\n__exception__\r\n`
}

/**
 * Closes the connection without the last chunk, so that no client mistakes the response for complete;
 * bytes already sent still arrive.
 */
function breakOff(response: ServerResponse): void {
  const { socket } = response
  socket?.end()
  setTimeout(() => socket?.destroy(), breakMs).unref()
}

type Counts = Omit<StatementOutcome, 'bytes'>

/** What a statement did, as the value of `X-ClickHouse-Summary`. */
export type Summary = Readonly<Record<string, string | undefined>>

/** At the end of the JSON formats, and only there, the engine says what it has read. */
const statistics = /"rows_read": (\d+),\s*"bytes_read": (\d+)\s*\}\s*\}\s*$/
const statisticsBytesMax = 200

/**
 * @param result the last bytes of a result in one of the JSON formats; of any other result the figures of
 *   what was read are not known and left out
 */
export function summaryOf(
  { isInsert, rows, rowBytes, elapsedNs }: Counts,
  result: Buffer | undefined,
): Summary {
  const end = result?.subarray(-statisticsBytesMax).toString('latin1') ?? ''
  const [, rowsRead, bytesRead] = statistics.exec(end) ?? []
  const read = isInsert ? [String(rows), String(rowBytes)] : [rowsRead, bytesRead]
  return {
    read_rows: read[0],
    read_bytes: read[1],
    written_rows: String(isInsert ? rows : 0),
    written_bytes: String(isInsert ? rowBytes : 0),
    total_rows_to_read: '0',
    result_rows: String(rows),
    result_bytes: String(rowBytes),
    elapsed_ns: String(elapsedNs),
  }
}

const mediaTypes: readonly (readonly [RegExp, string])[] = [
  [
    /^JSON(Strings|Compact|CompactStrings|Columns\w*|ObjectEachRow|ColumnsWithMetadata)?$/,
    'application/json; charset=UTF-8',
  ],
  [/^(JSON\w*EachRow\w*|NDJSON|JSONLines)$/, 'application/x-ndjson; charset=UTF-8'],
  [/^CSV$/, 'text/csv; charset=UTF-8; header=absent'],
  [/^CSV/, 'text/csv; charset=UTF-8; header=present'],
  [/^(TSV|TabSeparated)/, 'text/tab-separated-values; charset=UTF-8'],
  [/^(RowBinary|Native|Parquet|Arrow|ORC|Avro|Protobuf|MsgPack)/, 'application/octet-stream'],
]

export function mediaTypeOf(format: string): string {
  return mediaTypes.find(([pattern]) => pattern.test(format))?.[1] ?? 'text/plain; charset=UTF-8'
}

import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Connection, StatementOutcome } from './engine.js'
import type { Role } from './http/auth.js'
import { type Body, spooled } from './http/body.js'
import type { Call } from './http/call.js'
import { type Exception, exceptionOf } from './http/exception.js'
import { withBlockInfo } from './http/native.js'
import { mediaTypeOf, type Reply, type Summary, summaryOf } from './http/reply.js'
import type { Pipes } from './pipes.js'
import { fromSpool, type Insert, readInsert } from './sql/insert.js'
import {
  intoOutfile,
  isInsert,
  type ParsedStatement,
  readStatement,
  severalStatements,
  withoutOutfile,
} from './sql/statement.js'

export interface RunContext {
  readonly pipes: Pipes
  readonly spoolPath: string
}

export interface Execution {
  readonly call: Call
  readonly role: Role
  readonly connection: Connection
  readonly reply: Reply
  /** Kills the statement. */
  readonly stop: () => void
  readonly resultBytesMax: number
  readonly onSummary?: ((summary: Summary) => void) | undefined
}

type Rest = Buffer | undefined

/** Formats that end with what the engine has read. */
const jsonFormats = /^JSON(Strings|Compact|CompactStrings|ColumnsWithMetadata)?$/

/** Bytes held back so that an early failure can still set the HTTP status. */
const heldBytesMax = 64 * 1024
const heldBytesMaxWaiting = { writer: 256 * 1024 * 1024, reader: 16 * 1024 * 1024 }

/**
 * Streams the result of a SELECT through a pipe with back-pressure; returns the last bytes.
 */
async function runSelect(
  context: RunContext,
  work: Execution,
  statement: ParsedStatement,
): Promise<Rest> {
  const { call, connection, reply } = work
  const format = statement.format?.name ?? call.format
  setFormat(reply, format)
  const pipe = context.pipes.open()
  try {
    const outcome = connection
      .query(intoOutfile(statement, pipe.path, call.format), 'Null')
      .catch(async (error: unknown) => {
        throw await ownError(error, work, statement)
      })
      .finally(pipe.finish)
    outcome.catch(() => undefined)
    const source = asSent(pipe.readable as AsyncIterable<Buffer>, work, format)
    const held = await forward(source, work, heldBytesMaxOf(work, format))
    const done = await outcome
    summarise(work, summaryOf(done, jsonFormats.test(format) ? held : undefined))
    return held
  } finally {
    context.pipes.close(pipe)
  }
}

/**
 * The error of a statement as if `intoOutfile` had added nothing. A text that does not parse is sent once
 * more without the addition: it cannot run, and its error names its own words and positions.
 */
async function ownError(
  error: unknown,
  { connection, call }: Execution,
  { sql, end }: ParsedStatement,
): Promise<unknown> {
  const message = error instanceof Error ? error.message : String(error)
  if (!message.startsWith('Code: 62.')) return new Error(withoutOutfile(message))
  const own = sql.slice(0, end)
  if ((await connection.statementCount(own)) === 0) {
    const found = await connection.query(own, call.format).catch((cause: unknown) => cause)
    if (found instanceof Error) return found
  }
  const detail = 'Syntax error at the end of the statement; quote its last name with backticks'
  return exceptionOf('SYNTAX_ERROR', detail)
}

/** A result as the client reads it. */
function asSent(
  source: AsyncIterable<Buffer>,
  { call: { protocolVersion }, stop }: Execution,
  format: string,
): AsyncIterable<Buffer> {
  const isVersioned = protocolVersion > 0 && /^native$/i.test(format)
  return isVersioned ? withBlockInfo(source, protocolVersion, stop) : source
}

/** A format with progress is read while the statement runs. */
function heldBytesMaxOf({ call, role }: Execution, format: string): number {
  if (call.isWaiting) return heldBytesMaxWaiting[role]
  const wanted = call.bufferBytes ?? (/WithProgress$/.test(format) ? 0 : heldBytesMax)
  return Math.min(wanted, heldBytesMaxWaiting[role])
}

/**
 * Sends the bytes of the pipe; returns the bytes still held back when the pipe ends. A statement with a
 * longer result than allowed is killed, and the rest of its bytes dropped.
 */
async function forward(
  source: AsyncIterable<Buffer>,
  { reply, resultBytesMax, stop }: Execution,
  heldMax: number,
): Promise<Rest> {
  let held: Buffer[] = []
  let heldBytes = 0
  let bytes = 0
  for await (const chunk of source) {
    const isTooLong = bytes > resultBytesMax
    bytes += chunk.length
    if (bytes > resultBytesMax) {
      if (!isTooLong) stop()
      continue
    }
    if (reply.isStarted || reply.isGone) {
      await reply.write(chunk)
      continue
    }
    held.push(chunk)
    heldBytes += chunk.length
    if (heldBytes <= heldMax) continue
    await reply.write(Buffer.concat(held))
    held = []
  }
  if (bytes > resultBytesMax) {
    const detail = `Limit for result exceeded, max bytes: ${resultBytesMax}; select less at a time`
    throw exceptionOf('TOO_MANY_ROWS_OR_BYTES', detail)
  }
  return reply.isStarted ? undefined : Buffer.concat(held)
}

/** Runs any other statement; its result, if any, is small and not streamed. */
async function runOther(work: Execution, statement: ParsedStatement): Promise<Rest> {
  const { call, connection, reply } = work
  const sql = statement.sql.slice(0, statement.end)
  const outcome = await connection.query(killable(sql, statement.verb), call.format)
  const format = statement.format?.name ?? call.format
  setFormat(reply, format)
  summarise(work, summaryOf(outcome, undefined))
  return buffer(asSent(Readable.from([outcome.bytes]), work, format))
}

/** The engine generates its own query ids: a KILL by query_id means the client's id. */
function killable(sql: string, verb: string): string {
  return verb === 'KILL' ? sql.replace(/\bquery_id\b/g, "Settings['log_comment']") : sql
}

/** Formats whose small bodies are inserted from memory, unless they start with white space. */
const inlineFormats = /^(JSON(Compact|Strings|CompactStrings)?EachRow|(CSV|TSV|TabSeparated)\w*)$/

/** Runs an INSERT: unchanged, with a small body from memory, or from a spooled file. */
async function runInsert(context: RunContext, work: Execution, body: Body): Promise<Rest> {
  const { call, connection } = work
  const insert = readInsert(call.query)
  if (insert.kind === 'complete') {
    await refuseSeveral(connection, call.query)
    return finishInsert(work, await connection.insert(call.query, Buffer.alloc(0)))
  }
  const inPlace = Buffer.from(call.query.slice(insert.dataAt).replace(/^[ \t\f]*\r?\n?/, ''))
  const isEmptyBody = body.path === undefined && body.head.length === 0
  if (insert.kind === 'data' && insert.format === 'Values' && isEmptyBody && inPlace.length > 0) {
    await refuseSeveral(connection, call.query)
    return finishInsert(work, await connection.insert(call.query, Buffer.alloc(0)))
  }
  if (isEmptyBody && inPlace.length === 0) return finishInsert(work, nothingWritten)
  const inline = inlineData(insert, body, inPlace)
  if (inline !== undefined && insert.kind === 'data') {
    const sql = `${insert.head}${insert.settings} FORMAT ${insert.format}`
    return finishInsert(work, await connection.insert(sql, inline))
  }
  if (inPlace.length > 0 && body.compression !== 'none') {
    throw exceptionOf('NOT_IMPLEMENTED', 'Data both in the query and in a compressed body')
  }
  const spool = spooled(body, inPlace, context.spoolPath)
  try {
    const { path, compression } = spool
    const sql = fromSpool(insert, { path: path as string, compression })
    return finishInsert(work, await connection.insert(sql, Buffer.alloc(0)))
  } finally {
    spool.remove()
  }
}

const nothingWritten = { isInsert: true, rows: 0, rowBytes: 0, elapsedNs: 0 }

function finishInsert(work: Execution, outcome: Omit<StatementOutcome, 'bytes'>): Rest {
  summarise(work, summaryOf(outcome, undefined))
  work.reply.set('Content-Type', 'text/plain; charset=UTF-8')
  return undefined
}

function inlineData(insert: Insert, body: Body, inPlace: Buffer): Buffer | undefined {
  if (insert.kind !== 'data' || !inlineFormats.test(insert.format)) return undefined
  if (body.path !== undefined || body.compression !== 'none') return undefined
  const data = inPlace.length === 0 ? body.head : Buffer.concat([inPlace, body.head])
  return (data[0] ?? 0) > 0x20 ? data : undefined
}

const readingVerbs = /^(SHOW|DESCRIBE|DESC|EXPLAIN|EXISTS|CHECK|SET|USE|)$/

/** Any page can make a browser send a GET, so only a POST changes data, as on a server. */
function notPosted(verb: string): Exception {
  const detail = `Cannot execute ${verb} by this method: use POST for what changes data`
  return exceptionOf('READONLY', detail)
}

async function refuseSeveral(connection: Connection, sql: string): Promise<void> {
  if ((await connection.statementCount(sql)) > 1) throw severalStatements()
}

/**
 * Parses a statement and runs it by its kind. Returns the last bytes, so that all resources of the
 * statement are released before the client gets the end of the response.
 */
export async function run(context: RunContext, work: Execution, body: Body): Promise<Rest> {
  const { call, connection, role } = work
  if (isInsert(call.query) && role === 'writer') {
    if (!call.isPosted) throw notPosted('INSERT')
    return runInsert(context, work, body)
  }
  const statement = readStatement(call.query)
  const isReading = statement.kind === 'select' || readingVerbs.test(statement.verb)
  if (!call.isPosted && !isReading) throw notPosted(statement.verb)
  if (statement.verb === '') throw exceptionOf('SYNTAX_ERROR', 'Syntax error: Empty query')
  if (statement.isSeveral) throw severalStatements()
  if (!statement.isPlaced) await refuseSeveral(connection, call.query)
  if (statement.kind === 'select') return runSelect(context, work, statement)
  return runOther(work, statement)
}

function summarise({ reply, onSummary }: Execution, summary: Summary): void {
  onSummary?.(summary)
  if (!reply.isStarted) reply.set('X-ClickHouse-Summary', JSON.stringify(summary))
}

export function setFormat(reply: Reply, format: string): void {
  reply.set('X-ClickHouse-Format', format)
  reply.set('Content-Type', mediaTypeOf(format))
}

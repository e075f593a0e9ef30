import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { Fault, type FaultCode } from '../../schemas/fault.js'
import type { Tracer } from '../../schemas/tracer.js'
import type { TlsFiles } from '../tls-files.js'
import { passingErrors, withdrawnErrors } from './passing.js'
import {
  type Durability,
  durabilitySettings,
  rowSettings,
  settingsAlways,
  writeSettings,
} from './settings.js'
import { type BoundStatement, bind, type Sql } from './sql.js'
import { toStatementSpan } from './statement-span.js'
import { createTasks, type RunningStatement, type Tasks } from './tasks.js'
import { notTls, tlsOptionsOf, tlsRemedyOf } from './tls.js'

/** Address of the store. `url` is ClickHouse's HTTP address without credentials. */
export interface StoreAddress {
  readonly url: string
  readonly username: string
  readonly password: string
  readonly database: string
  /** For https with a private authority or with client certificates. */
  readonly tlsFiles?: TlsFiles | undefined
}

/** Values bound by the server to `{name: Type}` in a statement. */
export type Parameters = Readonly<Record<string, unknown>>
/** ClickHouse settings that hold for one statement only. */
export type Settings = Readonly<Record<string, string | number>>

export interface Statement {
  readonly sql: Sql | string
  readonly parameters?: Parameters
  readonly settings?: Settings
}

/**
 * A connection pool to ClickHouse over HTTP, the only way in which the pipeline and the gateway
 * reach the store. Every failure is a Fault: `STORE_UNREACHABLE` (worth a retry) where the server
 * did not answer or said that it cannot now, `DISK_FULL` (likewise) where it has no space left,
 * `REPLICA_AWAY` (likewise) where a change waits for another replica, `STAGING_LOST` (likewise) where
 * a staging table is gone, `STORE_REFUSED` where it refused the statement.
 */
export interface Store {
  readonly address: StoreAddress
  /** Rows of a SELECT, one object each; 64-bit integers and decimals come as strings. */
  rows<T>(statement: Statement): Promise<readonly T[]>
  /**
   * Runs a statement that returns nothing, with an optional body as its data. Resolves with the rows that
   * it wrote, or would have written where the engine knew its token; undefined where nobody said so.
   */
  command(statement: Statement, body?: NodeJS.ReadableStream): Promise<number | undefined>
  /** Inserts objects whose keys are columns, as often as it is called; resolves when they are durable. */
  insert(table: string, values: readonly object[], settings?: Settings): Promise<void>
  /** The bytes of a SELECT in a ClickHouse format, streamed. */
  stream(statement: Statement, format: string): Promise<NodeJS.ReadableStream>
  /** Whether the server answers at all; a busy one does, since this takes no place among statements. */
  ping(): Promise<boolean>
  /** Runs a task whose writes are found by its name if it is repeated: see `Tasks`. */
  runTask: Tasks['run']
  close(): Promise<void>
}

/** NOT_ENOUGH_SPACE; other write errors mean a full disk only if their message says so. */
const notEnoughSpace = '243'
const fullDisk = /no space left on device|ENOSPC/i

/** UNFINISHED: here it is done, and a replica that is away has not carried it out yet. */
const unfinished = '341'

/** UNKNOWN_TABLE, or none for `merge`; staging and tables of a run of bills are on one server, another may answer. */
const [unknownTable, noTables] = ['60', '636']
const onOneServer = /\b(staging_\d+_|bill_[a-z]+_\d)/

/**
 * How much of the engine's message a fault repeats. Messages quote rows, parameters and constraints:
 * what is logged, queued or written to receipts is `discreet`, with code and name alone. `verbatim` is
 * for a person who queries the store directly, and is refused at once what jobs wait for: `withdrawnErrors`.
 */
export type Wording = 'verbatim' | 'discreet'

/** In characters as JSON; as much as leaves room in the request line of any proxy. */
const urlParametersMax = 4_096

export interface StoreOptions {
  /** Default: majority. */
  readonly durability?: Durability
  /** Records each statement by kind and table. */
  readonly tracer?: Tracer | undefined
  /** A server that is silent for this long is unreachable. */
  readonly silentMsMax?: number
}

/** Long statements of the pipeline send nothing until they end. */
const silentMs = 600_000
const connectionsMax = 16
/** Headers of progress for a day; Node alone takes 16 KB. */
const headerBytesMax = 512 * 1024

export function createStore(
  address: StoreAddress,
  wording: Wording = 'verbatim',
  { tracer, silentMsMax = silentMs, durability = 'majority' }: StoreOptions = {},
): Store {
  // In `url` the client would take a path for a database that comes before the one named here.
  const { origin, pathname } = new URL(address.url)
  const client = createClient({
    url: origin,
    pathname,
    username: address.username,
    password: address.password,
    database: address.database,
    application: 'tieline',
    log: { level: ClickHouseLogLevel.OFF },
    request_timeout: silentMsMax,
    max_response_headers_size: headerBytesMax,
    max_open_connections: connectionsMax,
    use_multipart_params_auto: true,
    keep_alive: { enabled: true, idle_socket_ttl: 2_000 },
    ...tlsOptionsOf(address, connectionsMax),
  })
  const always = { ...settingsAlways, ...durabilitySettings[durability] }
  const request = ({ text, parameters }: BoundStatement, settings?: Settings) => ({
    query: text,
    query_params: { ...parameters },
    clickhouse_settings: { ...always, ...settings },
  })
  const untraced = async <T>(what: string, run: () => Promise<T>): Promise<T> => {
    try {
      return await run()
    } catch (error) {
      throw toStoreFault(what, { error, wording })
    }
  }
  const attempt: typeof untraced =
    tracer === undefined
      ? untraced
      : (what, run) => tracer.trace(toStatementSpan(what), () => untraced(what, run))
  /** Too long a list of parameters is a programming error, not a fault of the store. */
  const exec = async <T>(
    statement: Statement,
    take: (stream: Readable, writtenRows: number | undefined) => T | Promise<T>,
    { values, format }: { readonly values?: Readable; readonly format?: string } = {},
  ): Promise<T> => {
    const bound = boundOf(statement)
    refuseLong(bound)
    const text = format === undefined ? bound.text : `${bound.text} FORMAT ${format}`
    return attempt(text, async () => {
      const { stream, summary, response_headers } = await client.exec({
        ...request({ ...bound, text }, statement.settings),
        ...(format === undefined && { query_id: tasks.nextId() }),
        ...(values && { values }),
      })
      refuseForeign(response_headers, () => stream.destroy())
      const written = summary?.written_rows
      return take(stream, written === undefined ? undefined : Number(written))
    })
  }
  const rows = <T>(statement: Statement): Promise<readonly T[]> => {
    const bound = boundOf(statement)
    return attempt(bound.text, async () => {
      const settings = { ...rowSettings, ...statement.settings }
      const result = await client.query({ ...request(bound, settings), format: 'JSONEachRow' })
      refuseForeign(result.response_headers, () => result.close())
      return result.json<T>()
    })
  }
  const tasks = createTasks(address.database, (sql) => rows<RunningStatement>({ sql }))
  return {
    address,
    rows,
    command: (statement, body) =>
      exec(
        { ...statement, settings: { ...writeSettings(), ...statement.settings } },
        async (stream, writtenRows) => {
          stream.resume()
          await finished(stream)
          return writtenRows
        },
        body === undefined ? {} : { values: body as Readable },
      ),
    insert: (table, values, settings) =>
      attempt(`INSERT INTO ${table}`, async () => {
        const { executed, response_headers } = await client.insert({
          query_id: tasks.nextId(),
          table,
          values: [...values],
          format: 'JSONEachRow',
          clickhouse_settings: {
            ...always,
            ...writeSettings(),
            date_time_input_format: 'best_effort',
            ...settings,
          },
        })
        // An empty list is not sent, and then nobody has answered.
        if (executed) refuseForeign(response_headers)
      }),
    stream: (statement, format) => exec(statement, (stream) => stream, { format }),
    ping: async () => (await client.ping()).success,
    runTask: tasks.run,
    close: () => client.close(),
  }
}

/** Statements that are not tagged yet bring their own parameters. */
function boundOf({ sql, parameters = {} }: Statement): BoundStatement {
  return typeof sql === 'string' ? { text: sql, parameters } : bind(sql)
}

/** The client sends parameters in the body for `rows` only: a long list needs a table. */
function refuseLong({ text, parameters }: BoundStatement): void {
  const toText = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)
  const { length } = JSON.stringify(parameters, toText)
  if (length <= urlParametersMax) return
  const most = `at most ${urlParametersMax} fit into the URL: use a table`
  throw new TypeError(`${length} characters of parameters, ${most}; in: ${shownOf(text)}`)
}

/** A page of a proxy may have the status 200; `release` gives its connection back. */
function refuseForeign(headers: Readonly<Record<string, unknown>>, release?: () => void): void {
  if (headers['x-clickhouse-query-id'] !== undefined) return
  release?.()
  throw Object.assign(new Error('no X-ClickHouse-Query-Id'), { code: 'NOT_CLICKHOUSE' })
}

/**
 * An error of ClickHouse as a fault that names the statement, never its parameters. A discreet fault
 * has no cause either: a log would print it.
 */
export function toStoreFault(
  statement: string,
  { error, wording }: { readonly error: unknown; readonly wording: Wording },
): Fault {
  const named = shownOf(statement)
  const cause = wording === 'verbatim' ? { cause: error } : {}
  if (error instanceof ClickHouseError) {
    return new Fault(codeOf(error, wording), `${reasonOf(error, wording)}; in: ${named}`, cause)
  }
  const name = nameOf(error)
  const reason =
    tlsRemedyOf(name) ?? (wording === 'verbatim' ? String(error).slice(0, shownMax) : name)
  return new Fault('STORE_UNREACHABLE', `ClickHouse did not answer (${reason}): ${named}`, cause)
}

/** Characters of a message. */
const shownMax = 300

function shownOf(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 120)
}

function codeOf({ code, message }: ClickHouseError, wording: Wording): FaultCode {
  if (code === notEnoughSpace || fullDisk.test(message)) return 'DISK_FULL'
  if (code === unfinished) return 'REPLICA_AWAY'
  if (code === noTables) return 'STAGING_LOST'
  if (code === unknownTable && onOneServer.test(message)) return 'STAGING_LOST'
  const passes = passingErrors.has(code) || (wording === 'discreet' && withdrawnErrors.has(code))
  return passes ? 'STORE_UNREACHABLE' : 'STORE_REFUSED'
}

function reasonOf({ code, type, message }: ClickHouseError, wording: Wording): string {
  if (wording === 'verbatim') return `${type ?? code}: ${message.slice(0, shownMax)}`
  return type === undefined ? code : `${type} (${code})`
}

/** The message of a parse error quotes the response, so only its name is used. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  if (error.message.startsWith('Timeout')) return 'time-out'
  if (/^\s*</.test(error.message)) return 'HTML of a proxy'
  if (/wrong version number|packet length too long/.test(error.message)) return notTls
  return (error as NodeJS.ErrnoException).code ?? error.name
}

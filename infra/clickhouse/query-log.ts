import type { Engine } from './engine.js'
import type { StoreUser } from './http/auth.js'
import type { Call } from './http/call.js'
import type { Exception } from './http/exception.js'
import type { Summary } from './http/reply.js'
import { onFreshLease } from './sessions.js'

/** `system.query_log` with the statements of readers; a filter of the engine shows each its own. */
export interface QueryLog {
  /** Begins the entry of a statement; one that names the log sees all entries that have ended. */
  begin(client: StoreUser, call: Call): Promise<LoggedStatement>
}

export interface LoggedStatement {
  summarise(summary: Summary): void
  end(exception?: Exception): void
}

/** In memory, for as long as the engine runs; the oldest go first. */
const rowsMax = 10_000
const bytesMax = 32 * 1024 ** 2
/** As ClickHouse cuts them. */
const lengthMax = 100_000
/** Entries that are not in the table yet. */
const heldMax = 200
const heldLengthMax = 1_000_000

const table = `CREATE TABLE IF NOT EXISTS system.query_log (
  type Enum8('QueryFinish' = 2, 'ExceptionWhileProcessing' = 4),
  event_date Date DEFAULT toDate(event_time),
  event_time DateTime,
  query_start_time DateTime DEFAULT toDateTime(query_start_time_microseconds),
  query_start_time_microseconds DateTime64(6),
  query_duration_ms UInt64,
  read_rows Nullable(UInt64) COMMENT 'null where the engine does not report it',
  read_bytes Nullable(UInt64),
  result_rows UInt64,
  result_bytes UInt64,
  query String,
  exception_code Int32,
  exception String,
  user String,
  query_id String
) ENGINE = Memory
SETTINGS min_rows_to_keep = 1, max_rows_to_keep = ${rowsMax}, min_bytes_to_keep = 1, max_bytes_to_keep = ${bytesMax}`

export async function createQueryLog(engine: Engine): Promise<QueryLog> {
  await onFreshLease(engine, (connection) => connection.query(table, 'Null'))
  let held: string[] = []
  let heldLength = 0
  /** A log that cannot be written ends no statement. */
  const flush = async (): Promise<void> => {
    if (held.length === 0) return
    const data = Buffer.from(`${held.join('\n')}\n`)
    held = []
    heldLength = 0
    const insert = 'INSERT INTO system.query_log FORMAT JSONEachRow'
    const inserted = onFreshLease(engine, (connection) => connection.insert(insert, data))
    await inserted.catch(() => undefined)
  }
  const add = (entry: object): void => {
    const line = JSON.stringify(entry)
    heldLength += line.length
    if (held.push(line) >= heldMax || heldLength > heldLengthMax) void flush()
  }
  return {
    begin: async ({ name }, { query, queryId }) => {
      if (/query_log/i.test(query)) await flush()
      const startedAt = Date.now()
      let seen: Summary | undefined
      return {
        summarise: (summary) => {
          seen = summary
        },
        end: (exception) =>
          add({
            type: exception === undefined ? 'QueryFinish' : 'ExceptionWhileProcessing',
            event_time: Math.floor(Date.now() / 1000),
            query_start_time_microseconds: (startedAt / 1000).toFixed(3),
            query_duration_ms: Date.now() - startedAt,
            read_rows: seen?.['read_rows'] ?? null,
            read_bytes: seen?.['read_bytes'] ?? null,
            result_rows: seen?.['result_rows'] ?? 0,
            result_bytes: seen?.['result_bytes'] ?? 0,
            query: query.slice(0, lengthMax),
            exception_code: exception?.code ?? 0,
            exception: exception?.text.slice(0, lengthMax) ?? '',
            user: name,
            query_id: queryId,
          }),
      }
    },
  }
}

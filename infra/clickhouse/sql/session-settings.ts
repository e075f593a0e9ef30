import { readerRole } from '../access.js'
import type { Connection } from '../engine.js'
import type { Role } from '../http/auth.js'
import type { Call, Pair } from '../http/call.js'
import { exceptionOf } from '../http/exception.js'
import { stringLiteral } from './statement.js'

/** The engine's max_query_size; a longer SET first has to raise the limit in a separate call. */
const queryBytesDefault = 262_144

/**
 * Applies the session settings of a call to a connection: database, settings, parameters, the id for
 * KILL; for a reader its role and last the readonly mode, which it cannot undo.
 */
export async function prepare(connection: Connection, call: Call, role: Role): Promise<void> {
  if (role === 'reader') refuseUnsafe(call)
  const pairs: Pair[] = call.settings.filter(([name]) => name !== 'log_comment')
  const set = [
    ...pairs.map(([name, value]) => `${name} = ${stringLiteral(value)}`),
    ...call.params.map(([name, value]) => `param_${name} = ${stringLiteral(value)}`),
    `log_comment = ${stringLiteral(call.queryId)}`,
    ...(role === 'reader' ? ['readonly = 1'] : []),
  ].join(', ')
  const own = role === 'reader' ? `SET ROLE ${readerRole};` : ''
  const use = call.database === undefined ? own : `${own}USE ${quoted(call.database)};`
  const bytes = Buffer.byteLength(set) + use.length
  if (bytes > queryBytesDefault / 2) {
    await connection.query(`SET max_query_size = ${bytes * 2 + queryBytesDefault}`, 'Null')
  }
  await connection.query(`${use}SET ${set}`, 'Null')
}

/**
 * Settings that a reader may choose: limits and how an answer looks, and those that clients send with
 * every statement. Others read files, hide filters with functions in them, or change the dialect.
 */
const readerSettings =
  /^(max_(threads|block_size|execution_time|memory_usage|(result|rows_to|bytes_to)_\w+)|(read|result|timeout)_overflow_mode|output_format_(?!schema)\w+|date_time_output_format|session_timezone|join_use_nulls|join_algorithm|extremes|limit|offset|final|readonly|optimize_\w+|compile_\w+|async_insert|insert_quorum(_timeout)?|alter_sync|log_comment|send_progress_in_http_headers|http_headers_progress_interval_ms|cancel_http_readonly_queries_on_client_close)$/

function refuseUnsafe({ settings, database }: Call): void {
  if (/^system$/i.test(database ?? '')) {
    throw exceptionOf(
      'ACCESS_DENIED',
      'Not enough privileges: a reader cannot use the database system',
    )
  }
  const refused = settings.find(([name, value]) => {
    return !readerSettings.test(name) || (name === 'readonly' && !/^[12]$/.test(value))
  })
  if (refused === undefined) return
  throw exceptionOf('READONLY', `Cannot modify '${refused[0]}' setting in readonly mode`)
}

function quoted(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}

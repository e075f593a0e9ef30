import type { Connection } from '../engine.js'
import type { Role } from '../http/auth.js'
import type { Call, Pair } from '../http/call.js'
import { exceptionOf } from '../http/exception.js'
import { stringLiteral } from './statement.js'

/** The engine's max_query_size; a longer SET first has to raise the limit in a separate call. */
const queryBytesDefault = 262_144

/**
 * Applies the session settings of a call to a connection: database, settings, parameters, the id for
 * KILL, and last the readonly mode, which a reader cannot undo.
 */
export async function prepare(connection: Connection, call: Call, role: Role): Promise<void> {
  if (role === 'reader') refuseLoosening(call.settings)
  const pairs: Pair[] = call.settings.filter(([name]) => name !== 'log_comment')
  const set = [
    ...pairs.map(([name, value]) => `${name} = ${stringLiteral(value)}`),
    ...call.params.map(([name, value]) => `param_${name} = ${stringLiteral(value)}`),
    `log_comment = ${stringLiteral(call.queryId)}`,
    ...(role === 'reader' ? ['readonly = 1'] : []),
  ].join(', ')
  const use = call.database === undefined ? '' : `USE ${quoted(call.database)};`
  const bytes = Buffer.byteLength(set) + use.length
  if (bytes > queryBytesDefault / 2) {
    await connection.query(`SET max_query_size = ${bytes * 2 + queryBytesDefault}`, 'Null')
  }
  await connection.query(`${use}SET ${set}`, 'Null')
}

/** Settings that would weaken `readonly = 1`. */
const fixedForReaders = new Set(['readonly', 'allow_ddl', 'allow_introspection_functions'])

function refuseLoosening(settings: readonly Pair[]): void {
  const loosened = settings.find(([name]) => fixedForReaders.has(name))
  if (loosened === undefined) return
  throw exceptionOf('READONLY', `Cannot modify '${loosened[0]}' setting in readonly mode`)
}

function quoted(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}

import { rolesOf } from '../access.js'
import type { StoreUser } from '../http/auth.js'
import type { Call } from '../http/call.js'
import type { Lease } from '../sessions.js'
import { stringLiteral } from './statement.js'

/** The engine's max_query_size; a longer SET first has to raise the limit in a separate call. */
const queryBytesDefault = 262_144

/**
 * Applies the session settings of a call to a connection: database, settings, parameters, the id for
 * KILL; for a reader its role and last the readonly mode, which it cannot undo. Returns whether that is
 * all, so that a call that sets the same may have the connection.
 */
export async function prepare(
  { connection, isSet }: Pick<Lease, 'connection' | 'isSet'>,
  call: Call,
  client: StoreUser,
): Promise<boolean> {
  const isReader = client.role === 'reader'
  const set = [
    ...(isSet ? [] : call.set),
    ...call.params.map(([name, value]) => `param_${name} = ${stringLiteral(value)}`),
    `log_comment = ${stringLiteral(commentOf(client, call))}`,
    ...(isReader ? ['readonly = 1'] : []),
  ].join(', ')
  const own = isReader ? `SET ROLE ${rolesOf(client)};` : ''
  const use = isSet || call.database === undefined ? own : `${own}USE ${quoted(call.database)};`
  const bytes = Buffer.byteLength(set) + use.length
  const isLong = bytes > queryBytesDefault / 2
  if (isLong) {
    await connection.query(`SET max_query_size = ${bytes * 2 + queryBytesDefault}`, 'Null')
  }
  await connection.query(`${use}SET ${set}`, 'Null')
  return !isLong
}

/**
 * What a statement is known by in `system.processes`: the id that its client chose. A reader's name comes
 * before it, so that no reader's id can be taken for one of the writer or of another reader.
 */
export function commentOf({ role, name }: StoreUser, { queryId }: Pick<Call, 'queryId'>): string {
  return role === 'writer' ? queryId : `reader ${name}: ${queryId}`
}

function quoted(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}

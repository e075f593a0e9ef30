import type { Readable } from '../access.js'
import type { Engine } from '../engine.js'
import type { StoreUser } from '../http/auth.js'
import { type Exception, exceptionOf, toException } from '../http/exception.js'
import { onFreshLease } from '../sessions.js'
import { readStatement, unquoted } from './statement.js'
import { isName } from './tokens.js'

/** Codes of errors of statements that run, so that the rights are checked, and of missing rights. */
const afterRights = new Set([158, 159, 202, 241, 307, 394, 396, 497])

const tables = `SELECT database, name FROM system.tables
WHERE lower(database) NOT IN ('system', 'information_schema')`

interface Rights {
  readonly engine: Engine
  readonly readable: Readable
}

/**
 * The error that a reader sees. The engine checks rights after it has read the names and types of columns,
 * which its messages contain. They are not sent if the statement names a table that the reader cannot read.
 */
export async function errorForReader(
  { engine, readable }: Rights,
  { query, seesAudit }: { readonly query: string } & Pick<StoreUser, 'seesAudit'>,
  error: unknown,
): Promise<Exception> {
  const exception = toException(error)
  if (afterRights.has(exception.code)) return exception
  const open = new Set([...readable.readable, ...(seesAudit ? readable.auditable : [])])
  const names = new Set(
    readStatement(query)
      .tokens.filter(isName)
      .map(({ start, end }) => unquoted(query.slice(start, end))),
  )
  const { bytes } = await onFreshLease(engine, (connection) =>
    connection.query(tables, 'JSONCompactEachRow'),
  )
  for (const line of bytes.toString('utf8').split('\n').filter(Boolean)) {
    const [database, name] = JSON.parse(line) as [string, string]
    if (!names.has(name) || open.has(`${database}.${name}`)) continue
    const cause = `the statement fails (${exception.name}) and names ${name}`
    const detail = `${cause}, which is also a table that a reader cannot read`
    return exceptionOf('ACCESS_DENIED', `Not enough privileges: ${detail}`)
  }
  return exception
}

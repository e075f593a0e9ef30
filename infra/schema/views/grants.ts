import { readerLimits, serverLimits } from '../../clickhouse/reader-limits.js'
import { publicNames } from './public-views.js'

export interface Grants {
  readonly database: string
  /** The cluster on whose servers the statements run. */
  readonly cluster?: string | undefined
}

/** What readers need in addition to see running statements, login attempts and the audit log. */
export function auditableOf(database: string): readonly string[] {
  return ['audit_log', 'login_attempt', 'login_unlock', 'login_lock'].map(
    (name) => `${database}.${name}`,
  )
}

/**
 * Statements that create the role `<database>_reader`, which can read the published views and what they
 * are made of, and nothing else. `statements` are those of the database.
 */
export function toGrants(
  statements: readonly string[],
  { database, cluster }: Grants,
): readonly string[] {
  const role = `${database}_reader`
  const on = cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`
  return [
    `CREATE ROLE IF NOT EXISTS ${role}${on}`,
    `CREATE SETTINGS PROFILE OR REPLACE ${role}${on} SETTINGS ${[
      'readonly = 2 CONST',
      ...serverLimits(readerLimits).map(([name, max]) => `${name} = ${max} MIN 1 MAX ${max}`),
    ].join(', ')} TO ${role}`,
    ...readableOf(statements, database).map((name) => `GRANT${on} SELECT ON ${name} TO ${role}`),
  ]
}

/**
 * The published views and the tables and views that they read, as `database.name`. A view that read
 * with the rights of its creator (SQL SECURITY DEFINER) would hide the tables. But then views that are
 * joined would no longer see one state of a table.
 */
export function readableOf(statements: readonly string[], database: string): readonly string[] {
  const created = new Map(
    statements.flatMap((text): [string, string][] => {
      const name = /^CREATE OR REPLACE VIEW (\w+\.\w+)/.exec(text)?.[1]
      return name === undefined ? [] : [[name, text]]
    }),
  )
  const reachable = new Set(publicNames.map((name) => `${database}.${name}`))
  for (const name of reachable) {
    const read = created.get(name)?.matchAll(new RegExp(`\\b${database}\\.\\w+`, 'g')) ?? []
    for (const [found] of read) reachable.add(found)
  }
  return [...reachable]
}

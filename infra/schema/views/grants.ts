import { publicNames } from './public-views.js'

export interface Grants {
  readonly database: string
  /** The cluster on whose servers the statements run. */
  readonly cluster?: string | undefined
}

/** The limits of one query of a reader: ten minutes and ten gigabytes. */
const limits = { seconds: 600, bytes: 10_000_000_000 }

/**
 * Statements that create the role `<database>_reader`, which can read the published views and nothing
 * else. The views read the tables with the rights of the user that created them.
 */
export function toGrants({ database, cluster }: Grants): readonly string[] {
  const role = `${database}_reader`
  const on = cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`
  return [
    `CREATE ROLE IF NOT EXISTS ${role}${on}`,
    `CREATE SETTINGS PROFILE IF NOT EXISTS ${role}${on} SETTINGS ${[
      'readonly = 2 CONST',
      `max_execution_time = ${limits.seconds} MAX ${limits.seconds}`,
      `max_memory_usage = ${limits.bytes} MAX ${limits.bytes}`,
    ].join(', ')} TO ${role}`,
    ...publicNames.map((name) => `GRANT${on} SELECT ON ${database}.${name} TO ${role}`),
  ]
}

import { viewsOf } from '../cluster.js'
import { publicNames } from './public-views.js'

export interface Grants {
  readonly database: string
  /** The user that Tieline works as: the views read the tables with its rights. */
  readonly definer: string
  /** The cluster on whose servers the statements run. */
  readonly cluster?: string
}

/** The limits of one query of a reader: ten minutes and ten gigabytes. */
const limits = { seconds: 600, bytes: 10_000_000_000 }

/**
 * Statements that create the role `<database>_reader`, which can read the published views and
 * nothing else. `statements` are those of the database; views are distinguished from tables by
 * them. Run them after each upgrade: a view that an upgrade replaces loses its definer.
 */
export function toGrants(statements: readonly string[], grants: Grants): readonly string[] {
  const { database, cluster } = grants
  const role = `${database}_reader`
  const on = cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`
  const created = viewsOf(statements)
  const views = publicNames.filter((name) => created.has(`${database}.${name}`))
  const ofShards = views.filter((name) => created.get(`${database}.${name}`) === 'plain')
  const names = [
    ...publicNames,
    ...(cluster === undefined ? [] : ofShards.map((one) => `${one}_all`)),
  ]
  return [
    `CREATE ROLE IF NOT EXISTS ${role}${on}`,
    `CREATE SETTINGS PROFILE IF NOT EXISTS ${role}${on} SETTINGS ${[
      'readonly = 2 CONST',
      `max_execution_time = ${limits.seconds} MAX ${limits.seconds}`,
      `max_memory_usage = ${limits.bytes} MAX ${limits.bytes}`,
    ].join(', ')} TO ${role}`,
    ...views.map(
      (name) =>
        `ALTER TABLE ${database}.${name}${on} MODIFY SQL SECURITY DEFINER DEFINER = ${grants.definer}`,
    ),
    ...names.map((name) => `GRANT${on} SELECT ON ${database}.${name} TO ${role}`),
  ]
}

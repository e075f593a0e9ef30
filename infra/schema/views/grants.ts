import { publicNames } from './public-views.js'

export interface Grants {
  readonly database: string
  /** The user that Tieline works as: views read what is behind them with its rights. */
  readonly definer: string
  /** A cluster, on all of whose servers the statements run. */
  readonly cluster?: string
}

/** What one query of a reader may take: ten minutes and ten gigabytes. */
const limits = { seconds: 600, bytes: 10_000_000_000 }

/**
 * The statements that make the role `<database>_reader`, which can read the published views and
 * nothing else. `statements` are those that make the database: they tell views from tables. A view
 * that is made anew has the rights of its reader again, so that these are run after each upgrade.
 */
export function toGrants(statements: readonly string[], grants: Grants): readonly string[] {
  const { database, cluster } = grants
  const role = `${database}_reader`
  const on = cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`
  const created = createdViews(statements)
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

/** The views that statements make; one with a parameter cannot be read through another table. */
function createdViews(
  statements: readonly string[],
): ReadonlyMap<string, 'plain' | 'parameterized'> {
  const views = new Map<string, 'plain' | 'parameterized'>()
  for (const statement of statements) {
    const [, created] = /^CREATE OR REPLACE VIEW (\S+)/m.exec(statement) ?? []
    if (created === undefined) continue
    views.set(created, /\{\w+:\s*\w/.test(statement) ? 'parameterized' : 'plain')
  }
  return views
}

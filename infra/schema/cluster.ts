/** A ClickHouse cluster as its configuration calls it; its servers have the macros shard and replica. */
export interface Cluster {
  readonly name: string
  readonly database: string
}

type Change = (statement: string, cluster: Cluster) => string

/** What becomes of each kind of statement that migrations have; of another kind none may be. */
const changes: readonly (readonly [RegExp, Change])[] = [
  [/^CREATE DATABASE IF NOT EXISTS (\S+)/, onCluster],
  [/^CREATE TABLE IF NOT EXISTS (\S+)/, (sql, cluster) => replicate(onCluster(sql, cluster))],
  [/^CREATE OR REPLACE VIEW (\S+)/, onCluster],
  [/^ALTER TABLE (\S+)/, onCluster],
  [/^DROP (?:TABLE|VIEW) IF EXISTS (\S+)/, onCluster],
]

/**
 * The statements of a single server for a cluster: every one runs on all its servers, tables are
 * replicated within their shard under the names that the service knows, and beside each view
 * `<view>_all` reads it from all shards. Throws for a kind of statement that is not known.
 */
export function toCluster(statements: readonly string[], cluster: Cluster): readonly string[] {
  const changed = statements.map((statement) => {
    const bare = statement.replace(/^(--.*\n|\s)+/, '')
    const change = changes.find(([begins]) => begins.test(bare))?.[1]
    if (change !== undefined) return change(bare, cluster)
    throw new TypeError(`no rule for a cluster: ${bare.slice(0, 80)}`)
  })
  return [...changed, ...viewsOf(statements).map((view) => overAllShards(view, cluster))]
}

function onCluster(statement: string, { name }: Cluster): string {
  const [begins] = changes.find(([begins]) => begins.test(statement)) ?? []
  return statement.replace(begins ?? /$^/, (start) => `${start} ON CLUSTER '${name}'`)
}

/** Insert tokens are then kept by all replicas of a shard, so that a retry may go to another one. */
function replicate(statement: string): string {
  const [, table = ''] = /^CREATE TABLE IF NOT EXISTS (\S+)/.exec(statement) ?? []
  const path = `/clickhouse/tables/{shard}/${table.replace('.', '/')}`
  return statement
    .replace(/\nENGINE = (\w*MergeTree)(?:\(([^)\n]*)\))?/, (_, engine, version) => {
      const more = version === undefined ? '' : `, ${version}`
      return `\nENGINE = Replicated${engine}('${path}', '{replica}'${more})`
    })
    .replace('non_replicated_deduplication_window', 'replicated_deduplication_window')
}

/** The views that are left in the end; one with a parameter cannot be read through another table. */
function viewsOf(statements: readonly string[]): readonly string[] {
  const views = new Set<string>()
  for (const statement of statements) {
    const [, created] = /^CREATE OR REPLACE VIEW (\S+)/m.exec(statement) ?? []
    if (created !== undefined && !/\{\w+:\s*\w/.test(statement)) views.add(created)
    const [, dropped] = /^DROP VIEW IF EXISTS (\S+)/m.exec(statement) ?? []
    if (dropped !== undefined) views.delete(dropped)
  }
  return [...views]
}

function overAllShards(view: string, { name, database }: Cluster): string {
  const bare = view.slice(database.length + 1)
  return `CREATE TABLE IF NOT EXISTS ${view}_all ON CLUSTER '${name}' AS ${view}
ENGINE = Distributed('${name}', '${database}', '${bare}')
COMMENT 'The view ${bare} of all shards'`
}

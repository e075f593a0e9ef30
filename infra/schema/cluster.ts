/**
 * How migrations differ between one server and a cluster. The placeholders `{onCluster}`,
 * `{engine:Family(version)}` and `{deduplicationWindow}` of their text are filled from it.
 */
export interface Topology {
  /** Follows the name of the object in each statement; empty where the statement runs once. */
  readonly onCluster: string
  readonly engine: (family: string, version: string | undefined) => string
  /** The setting that holds the number of insert tokens kept. */
  readonly deduplicationWindow: string
}

export const oneServer: Topology = {
  onCluster: '',
  engine: (family, version) => (version === undefined ? family : `${family}(${version})`),
  deduplicationWindow: 'non_replicated_deduplication_window',
}

/**
 * The setting of a replicated table that holds the number of insert tokens kept. ClickHouse also forgets
 * tokens by time, after an hour by default: a number could be claimed again.
 */
export const tokensKept =
  'replicated_deduplication_window_seconds = 3153600000, replicated_deduplication_window'

/**
 * Statements run on every server of the named cluster, and tables are replicated within a shard.
 * ClickHouse fills in the macros: `shard` and `replica` from the server's configuration, `database`
 * and `table` from the statement. All replicas of a shard share insert tokens, so that a retry may
 * go to another one.
 */
export function replicatedOn(cluster: string): Topology {
  const path = `'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'`
  return {
    onCluster: ` ON CLUSTER '${cluster}'`,
    engine: (family, version) =>
      `Replicated${family}(${version === undefined ? path : `${path}, ${version}`})`,
    deduplicationWindow: tokensKept,
  }
}

/** Tables beside the views: `<view>_all` reads the view from all shards of the cluster. */
export function overAllShards(statements: readonly string[], cluster: string): readonly string[] {
  return [...viewsOf(statements)]
    .filter(([, kind]) => kind === 'plain')
    .map(([view]) => {
      const [database, bare] = view.split('.')
      return `CREATE TABLE IF NOT EXISTS ${view}_all ON CLUSTER '${cluster}' AS ${view}
ENGINE = Distributed('${cluster}', '${database}', '${bare}')
COMMENT 'The view ${bare} of all shards'`
    })
}

/**
 * The views that remain after the statements, by `database.view`. A view with a parameter cannot
 * be read through another table.
 */
export function viewsOf(
  statements: readonly string[],
): ReadonlyMap<string, 'plain' | 'parameterized'> {
  const views = new Map<string, 'plain' | 'parameterized'>()
  for (const statement of statements) {
    const [, created] = /^CREATE OR REPLACE VIEW (\S+)/m.exec(statement) ?? []
    if (created) views.set(created, /\{\w+:\s*\w/.test(statement) ? 'parameterized' : 'plain')
    const [, dropped] = /^DROP VIEW IF EXISTS (\S+)/m.exec(statement) ?? []
    if (dropped) views.delete(dropped)
  }
  return views
}

/**
 * How migrations differ between one server and a cluster. The placeholders `{onCluster}`,
 * `{engine:Family(version)}`, `{deduplicationWindow}` and `{removeEmptyParts}` of their text are filled from it.
 */
export interface Topology {
  /** The cluster on whose servers statements run, if there are several. */
  readonly cluster?: string
  /** Follows the name of the object in each statement; empty where the statement runs once. */
  readonly onCluster: string
  readonly engine: (family: string, version: string | undefined) => string
  /** The setting that holds the number of insert tokens kept. */
  readonly deduplicationWindow: string
  /**
   * Whether parts that a deletion leaves empty are removed at once. A replica counts a deletion as done when
   * it has yet to remove such parts, so that an erasure would be finished while it still shows the rows.
   */
  readonly removeEmptyParts: '0' | '1'
}

export const oneServer: Topology = {
  onCluster: '',
  engine: (family, version) => (version === undefined ? family : `${family}(${version})`),
  deduplicationWindow: 'non_replicated_deduplication_window',
  removeEmptyParts: '1',
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
function replicatedOn(cluster: string): Topology {
  const path = `'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'`
  return {
    cluster,
    onCluster: ` ON CLUSTER '${cluster}'`,
    engine: (family, version) =>
      `Replicated${family}(${version === undefined ? path : `${path}, ${version}`})`,
    deduplicationWindow: tokensKept,
    removeEmptyParts: '0',
  }
}

/** The topology that a profile names. */
export function topologyOf(cluster: string | undefined): Topology {
  return cluster === undefined ? oneServer : replicatedOn(cluster)
}

import { type Topology, tokensKept } from '../../../infra/schema/cluster.js'

/**
 * Each database of the engine is a replica of the same tables: all databases have the same path in
 * Keeper for a table, and the name of the replica is that of the database.
 */
export const replicaOfEach: Topology = {
  onCluster: '',
  engine: (family, version) => {
    const place = "'/tieline/{table}', '{database}'"
    return `Replicated${family}(${version === undefined ? place : `${place}, ${version}`})`
  },
  deduplicationWindow: tokensKept,
  removeEmptyParts: '0',
}

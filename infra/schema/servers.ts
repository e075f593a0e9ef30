import type { Store } from '../../pipeline/store/clickhouse.js'
import { literal, type Sql, sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'

interface Place {
  readonly host: string
  readonly shard: number
}

/**
 * How many servers a cluster has, all of which answer now. Throws `CONFIG` where the server does not know
 * the cluster or it has several shards, `STORE_UNREACHABLE` where one of its servers does not answer.
 */
export async function countServers(store: Store, cluster: string): Promise<number> {
  const places = await store.rows<Place>({
    sql: sql`SELECT host_name AS host, shard_num AS shard FROM system.clusters
      WHERE cluster = ${cluster} ORDER BY shard_num, replica_num`,
  })
  if (places.length === 0) {
    const known = await store.rows<{ cluster: string }>({
      sql: sql`SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster LIMIT 20`,
    })
    const names = known.map((one) => one.cluster).join(', ') || 'none'
    throw new Fault(
      'CONFIG',
      `store.cluster ${cluster} is not in system.clusters of the server; set it to one of: ${names}`,
    )
  }
  const shards = new Set(places.map(({ shard }) => shard)).size
  if (shards > 1) {
    throw new Fault(
      'CONFIG',
      `cluster ${cluster} has ${shards} shards: name a cluster with one shard and all replicas of it`,
    )
  }
  const answers = await ask(store, cluster, {
    table: sql`system.one`,
    select: (from) => sql`SELECT hostName() AS host FROM ${from}`,
  })
  if (answers.length === places.length) return answers.length
  const names = places.map(({ host }) => host).join(', ')
  throw new Fault(
    'STORE_UNREACHABLE',
    `${answers.length} of the ${places.length} servers of cluster ${cluster} answer: ${names}; start the others`,
  )
}

/**
 * Whether all servers have the same tables and views of a database, out of some: a server that was
 * replaced, or that an upgrade did not reach, has others.
 */
export async function haveSameSchema(
  store: Store,
  { cluster, servers }: { readonly cluster: string; readonly servers: number },
  names: readonly string[],
): Promise<boolean> {
  const { database } = store.address
  for (const { table, name, described } of definitions) {
    const found = await ask<Described>(store, cluster, {
      table,
      select: (from) => sql`SELECT toString(serverUUID()) AS server,
          toString(groupBitXor(sipHash64(${name}, ${described}))) AS hash
        FROM ${from} WHERE database = ${database} AND ${name} IN ${literal(names)} GROUP BY server`,
    })
    const hashes = new Set(found.map(({ hash }) => hash))
    if (found.length !== servers || hashes.size !== 1) return false
  }
  return true
}

/** The columns of each table, and the text of each view. */
const definitions = [
  { table: sql`system.columns`, name: sql`table`, described: sql`name, type` },
  {
    table: sql`system.tables`,
    name: sql`name`,
    described: sql`replaceAll(as_select, database, '')`,
  },
] as const

interface Described {
  readonly server: string
  readonly hash: string
}

/** A statement over a system table of all servers of a cluster; each of them must answer. */
function ask<T>(
  store: Store,
  cluster: string,
  { table, select }: { readonly table: Sql; readonly select: (from: Sql) => Sql },
): Promise<readonly T[]> {
  return store.rows<T>({
    sql: select(sql`clusterAllReplicas(${literal(cluster)}, ${table})`),
    settings: { skip_unavailable_shards: 0 },
  })
}

/** The profile of another utility would find an empty database of its own, and no fault in it. */
export async function refuseOtherDatabase(store: Store, database: string): Promise<void> {
  const found = await store.rows<{ database: string }>({
    sql: sql`SELECT database FROM system.tables WHERE name = 'schema_migration' ORDER BY database`,
  })
  const [other] = found
  if (other === undefined || found.some((one) => one.database === database)) return
  throw new Fault(
    'CONFIG',
    `the data folder has database ${other.database}, but the profile has ${database}; set --profile to the profile of ${other.database}, or --home to another folder`,
  )
}

/** A database stays on one server, or on replicas: otherwise a new table would be on one of them only. */
export async function refuseOtherServers(
  store: Store,
  { database, cluster }: { readonly database: string; readonly cluster: string | undefined },
): Promise<void> {
  const [found] = await store.rows<{ engine: string }>({
    sql: sql`SELECT engine FROM system.tables
      WHERE database = ${database} AND name = 'schema_migration'`,
  })
  if (found === undefined) return
  const isReplicated = found.engine.startsWith('Replicated')
  if (isReplicated === (cluster !== undefined)) return
  throw new Fault(
    'CONFIG',
    isReplicated
      ? `database ${database} is replicated: name its cluster as store.cluster in the profile`
      : `database ${database} was created for one server: remove store.cluster or use another database`,
  )
}

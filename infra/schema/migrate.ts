import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createStore, type Store } from '../../pipeline/store/clickhouse.js'
import { id, sql, statementOf } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import { lengthsOf, type Profile } from '../../schemas/settings/profile.js'
import { packageRoot } from '../package-root.js'
import { type Topology, topologyOf } from './cluster.js'
import { countServers, haveSameSchema, refuseOtherDatabase, refuseOtherServers } from './servers.js'

interface Migration {
  readonly name: string
  /** sha256 of the file. */
  readonly hash: string
  /** sha256 of the file with all placeholders filled in. */
  readonly renderedHash: string
  readonly statements: readonly string[]
}

interface Applied {
  readonly name: string
  readonly hash: string
  readonly rendered_hash: string
  readonly time_zone: string
}

const createDatabase = `CREATE DATABASE IF NOT EXISTS {database}{onCluster}
COMMENT 'Meter reads and bills, loaded by Tieline'`

const createMigrations = `CREATE TABLE IF NOT EXISTS {database}.schema_migration{onCluster} (
    name String COMMENT 'file name of the migration',
    hash String COMMENT 'sha256 of the file, hexadecimal',
    rendered_hash String COMMENT 'sha256 of its statements with the values of the profile',
    time_zone String COMMENT 'time zone of the profile; a database keeps it permanently',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when it was applied'
) ENGINE = {engine:ReplacingMergeTree(applied_at)}
ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Migrations that were applied to this database'`

type Open = (address: Store['address']) => Store

export interface MigrateOptions {
  /** Default: that of the profile. */
  readonly topology?: Topology
  /** Whether the server is the embedded one of a data folder, which has one database. */
  readonly isEmbedded?: boolean
  /** Opens a store beside the one that is migrated. */
  readonly open?: Open
}

/**
 * Applies all pending migrations to the profile's database and returns their names. Each migration
 * is recorded after its last statement, and each statement may run twice, so a crash at any point
 * only repeats work. A profile that changes a value in a view (the units) applies that migration
 * again, and all migrations after it, which may have changed the same view.
 *
 * On a cluster every server must answer before the first change, and each statement ends when all
 * have carried it out. Where one server lacks something, all migrations are applied again.
 * Throws `STORE_REFUSED` if an applied file was changed, `CONFIG` if the time zone, the kind of
 * servers or the database of a data folder was, `STORE_UNREACHABLE` if a server of the cluster does not answer.
 */
export async function migrate(
  store: Store,
  profile: Profile,
  {
    topology = topologyOf(profile.store.cluster),
    isEmbedded = false,
    open = createStore,
  }: MigrateOptions = {},
): Promise<readonly string[]> {
  const { database } = store.address
  const { cluster } = topology
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(database)) {
    throw new Fault('CONFIG', `database ${JSON.stringify(database)} is not a plain name`)
  }
  const fill = filler({ ...profile, database }, topology)
  const servers = await ensureMigrations(store, fill, { cluster, isEmbedded, open })
  if (cluster !== undefined) {
    // A replaced replica fetches first what was applied.
    await store.command({ sql: sql`SYSTEM SYNC REPLICA ${id(database, 'schema_migration')}` })
  }
  const applied = await readApplied(store)
  refuseOtherZone(applied, profile, database)
  const migrations = await readMigrations(fill)
  for (const { name, hash } of migrations) refuseChanged(applied, { name, hash }, database)
  const isWhole =
    cluster === undefined ||
    (await haveSameSchema(store, { cluster, servers }, namesOf(migrations)))
  const at = isWhole ? firstPending(migrations, applied) : 0
  const pending = migrations.slice(at)
  for (const migration of pending) {
    for (const one of migration.statements) await store.command({ sql: statementOf(one) })
    await record(store, migration, profile)
  }
  return pending.map(({ name }) => name)
}

/**
 * Applies pending migrations. Where a server of the cluster is away and nothing is pending, it calls `onAway`
 * with a message and returns none, so that Tieline starts without that server.
 */
export async function migrateUnlessAway(
  store: Store,
  profile: Profile,
  { onAway, ...options }: MigrateOptions & { readonly onAway: (detail: string) => void },
): Promise<readonly string[]> {
  try {
    return await migrate(store, profile, options)
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'STORE_UNREACHABLE')) throw error
    const { topology = topologyOf(profile.store.cluster) } = options
    if (topology.cluster === undefined) throw error
    if (!(await isMigrated(store, profile, topology).catch(() => false))) throw error
    onAway(`${error.detail}; no migration is pending, so Tieline starts without them`)
    return []
  }
}

/**
 * Whether a server that has the profile's database lacks no migration. What the others of its cluster have is
 * not asked: one that is away follows the log when it is back.
 */
async function isMigrated(store: Store, profile: Profile, topology: Topology): Promise<boolean> {
  const { database } = store.address
  const applied = await readApplied(store)
  refuseOtherZone(applied, profile, database)
  const migrations = await readMigrations(filler({ ...profile, database }, topology))
  return firstPending(migrations, applied) === migrations.length
}

/** A migration that is applied again may undo what later ones changed, so they follow. */
function firstPending(migrations: readonly Migration[], applied: readonly Applied[]): number {
  const at = migrations.findIndex(({ name, renderedHash }) => {
    return applied.find((one) => one.name === name)?.rendered_hash !== renderedHash
  })
  return at === -1 ? migrations.length : at
}

/** The tables and views that migrations create. */
function namesOf(migrations: readonly Migration[]): readonly string[] {
  const created = /^CREATE (?:TABLE IF NOT EXISTS|OR REPLACE VIEW) \w+\.(\w+)/
  const names = migrations.flatMap(({ statements }) =>
    statements.flatMap((one) => created.exec(one)?.[1] ?? []),
  )
  return [...new Set(names)]
}

/** All statements that create a profile's database, in order, on one server or on a cluster. */
export async function readStatements(
  profile: Profile,
  cluster?: string,
): Promise<readonly string[]> {
  return readStatementsOn(profile, topologyOf(cluster))
}

/** The same on servers of any topology. */
export async function readStatementsOn(
  profile: Profile,
  topology: Topology,
): Promise<readonly string[]> {
  const fill = filler(profile, topology)
  const migrations = await readMigrations(fill)
  return [
    fill(createDatabase),
    fill(createMigrations),
    ...migrations.flatMap(({ statements }) => statements),
  ]
}

interface Ensuring {
  readonly cluster: string | undefined
  readonly isEmbedded: boolean
  readonly open: Open
}

/**
 * Creates database and table, and returns how many servers have them. ClickHouse refuses any statement
 * in a database that does not exist: the first ones use `default`.
 */
async function ensureMigrations(
  store: Store,
  fill: Fill,
  { cluster, isEmbedded, open }: Ensuring,
): Promise<number> {
  const outside = open({ ...store.address, database: 'default' })
  try {
    const servers = cluster === undefined ? 1 : await countServers(outside, cluster)
    if (isEmbedded) await refuseOtherDatabase(outside, store.address.database)
    await refuseOtherServers(outside, { database: store.address.database, cluster })
    await outside.command({ sql: statementOf(fill(createDatabase)) })
    await store.command({ sql: statementOf(fill(createMigrations)) })
    return servers
  } finally {
    await outside.close()
  }
}

function readApplied(store: Store): Promise<readonly Applied[]> {
  return store.rows<Applied>({
    sql: sql`SELECT name, hash, rendered_hash, time_zone
FROM ${id(store.address.database, 'schema_migration')} FINAL
ORDER BY name`,
  })
}

function refuseChanged(
  applied: readonly Applied[],
  { name, hash }: Pick<Migration, 'name' | 'hash'>,
  database: string,
): void {
  const known = applied.find((one) => one.name === name)
  if (known === undefined || known.hash === hash) return
  throw new Fault(
    'STORE_REFUSED',
    `database ${database} was created by another version of Tieline, with another text of migration ${name}; start that version again, or use an empty database or data folder and send the files again`,
  )
}

function refuseOtherZone(applied: readonly Applied[], profile: Profile, database: string): void {
  const other = applied.find((one) => one.time_zone !== profile.timeZone)
  if (other === undefined) return
  throw new Fault(
    'CONFIG',
    `database ${database} was created for time zone ${other.time_zone}, but the profile has ${profile.timeZone}; restore the time zone or use another database`,
  )
}

async function readMigrations(fill: Fill): Promise<readonly Migration[]> {
  const folder = join(packageRoot(import.meta.url), 'infra', 'schema', 'migrations')
  const names = (await readdir(folder)).filter((name) => /^\d{3}-[a-z0-9-]+\.sql$/.test(name))
  const texts = names.sort().map(async (name) => {
    const text = await readFile(join(folder, name), 'utf8')
    const rendered = fill(text)
    const statements = splitStatements(rendered)
    return { name, hash: sha256(text), renderedHash: sha256(rendered), statements }
  })
  return Promise.all(texts)
}

type Fill = (text: string) => string

/**
 * Fills in `{name}` and `{engine:Family(version)}`; ClickHouse's own parameters, `{name:Type}`,
 * stay. The profile's values are checked here and not escaped.
 */
function filler(profile: Profile, topology: Topology): Fill {
  const { onCluster, deduplicationWindow, removeEmptyParts } = topology
  const ofProfile = {
    database: profile.database,
    timeZone: profile.timeZone,
    electricUnit: profile.usage.unit.Electric,
    gasUnit: profile.usage.unit.Gas,
    electricSeconds: String(lengthsOf(profile, 'Electric')[0]),
    gasSeconds: String(lengthsOf(profile, 'Gas')[0]),
    lateAfterSeconds: String(Math.round(profile.usage.lateAfterHours * 3_600)),
  }
  for (const [name, value] of Object.entries(ofProfile)) {
    if (/^[A-Za-z0-9_+/-]+$/.test(value)) continue
    throw new Fault(
      'CONFIG',
      `${name} ${JSON.stringify(value)} has characters that are special in SQL`,
    )
  }
  const ofTopology = { onCluster, deduplicationWindow, removeEmptyParts }
  const values: Readonly<Record<string, string>> = { ...ofProfile, ...ofTopology }
  const named = (text: string) =>
    text.replace(/\{([A-Za-z]+)\}/g, (_, name: string) => {
      const value = values[name]
      if (value === undefined) throw new Error(`migrations have no placeholder {${name}}`)
      return value
    })
  return (text) =>
    named(text).replace(/\{engine:(\w+)(?:\((\w+)\))?\}/g, (_, family, version) =>
      topology.engine(family, version),
    )
}

/** Splits at each semicolon that ends a line; drops what is only a comment. */
export function splitStatements(text: string): readonly string[] {
  return text
    .split(/;[ \t]*(?:\r?\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => /^(?!--)\S/m.test(statement))
}

async function record(store: Store, migration: Migration, profile: Profile): Promise<void> {
  const { name, hash, renderedHash } = migration
  await store.insert(`${store.address.database}.schema_migration`, [
    { name, hash, rendered_hash: renderedHash, time_zone: profile.timeZone },
  ])
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

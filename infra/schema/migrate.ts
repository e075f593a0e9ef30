import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createStore, type Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { packageRoot } from '../package-root.js'

interface Migration {
  readonly name: string
  /** sha256 of the file. */
  readonly hash: string
  /** sha256 of the statements with the profile's values in them. */
  readonly renderedHash: string
  readonly statements: readonly string[]
}

interface Applied {
  readonly name: string
  readonly hash: string
  readonly rendered_hash: string
  readonly time_zone: string
}

/**
 * Brings the profile's database up to date and returns the names of what was applied. Each
 * migration is recorded after its last statement, and each statement may run twice, so a crash at
 * any point only repeats. A profile that changes a view's values (the units) applies it again, and
 * all migrations behind it, which may have changed the same view since.
 * Throws `STORE_REFUSED` when an applied file was changed, `CONFIG` when the time zone was.
 */
export async function migrate(store: Store, profile: Profile): Promise<readonly string[]> {
  const { database } = store.address
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(database)) {
    throw new Fault('CONFIG', `database ${JSON.stringify(database)} is not a plain name`)
  }
  await createDatabase(store)
  const applied = await readApplied(store)
  refuseOtherZone(applied, profile, database)
  const names: string[] = []
  let isChanged = false
  for (const migration of await readMigrations(placeholders(database, profile))) {
    const known = applied.find((one) => one.name === migration.name)
    if (known !== undefined && known.hash !== migration.hash) {
      throw new Fault(
        'STORE_REFUSED',
        `migration ${migration.name} was applied to ${database} with other content; put its file back and add a new one`,
      )
    }
    if (known?.rendered_hash === migration.renderedHash && !isChanged) continue
    isChanged ||= known !== undefined
    for (const sql of migration.statements) await store.command({ sql })
    await record(store, migration, profile)
    names.push(migration.name)
  }
  return names
}

/** Every statement that makes a profile's database, in order, for whoever runs them himself. */
export async function readStatements(profile: Profile): Promise<readonly string[]> {
  const { database } = profile
  const migrations = await readMigrations(placeholders(database, profile))
  return [
    databaseOf(database),
    migrationsOf(database),
    ...migrations.flatMap(({ statements }) => statements),
  ]
}

/** ClickHouse refuses any statement in a database that does not exist, so this one runs elsewhere. */
async function createDatabase(store: Store): Promise<void> {
  const outside = createStore({ ...store.address, database: 'default' })
  const { database } = store.address
  try {
    await outside.command({ sql: databaseOf(database) })
  } finally {
    await outside.close()
  }
  await store.command({ sql: migrationsOf(database) })
}

function databaseOf(database: string): string {
  return `CREATE DATABASE IF NOT EXISTS ${database} COMMENT 'Meter reads and bills, loaded by Tieline'`
}

function migrationsOf(database: string): string {
  return `CREATE TABLE IF NOT EXISTS ${database}.schema_migration
(
    name String COMMENT 'file name of the migration',
    hash String COMMENT 'sha256 of the file, hexadecimal',
    rendered_hash String COMMENT 'sha256 of its statements with the values of the profile',
    time_zone String COMMENT 'time zone of the profile, which a database keeps for good',
    applied_at DateTime64(3, 'UTC') DEFAULT now64(3) COMMENT 'when it was applied'
)
ENGINE = ReplacingMergeTree(applied_at)
ORDER BY name
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
COMMENT 'Migrations that this database has'`
}

function readApplied(store: Store): Promise<readonly Applied[]> {
  return store.rows<Applied>({
    sql: `SELECT name, hash, rendered_hash, time_zone
FROM ${store.address.database}.schema_migration FINAL
ORDER BY name`,
  })
}

function refuseOtherZone(applied: readonly Applied[], profile: Profile, database: string): void {
  const other = applied.find((one) => one.time_zone !== profile.timeZone)
  if (other === undefined) return
  throw new Fault(
    'CONFIG',
    `database ${database} was made for time zone ${other.time_zone} and the profile says ${profile.timeZone}; put it back, or name another database`,
  )
}

async function readMigrations(
  values: Readonly<Record<string, string>>,
): Promise<readonly Migration[]> {
  const folder = join(packageRoot(import.meta.url), 'infra', 'schema', 'migrations')
  const names = (await readdir(folder)).filter((name) => /^\d{3}-[a-z0-9-]+\.sql$/.test(name))
  const texts = names.sort().map(async (name) => {
    const text = await readFile(join(folder, name), 'utf8')
    const rendered = fill(text, values)
    const statements = splitStatements(rendered)
    return { name, hash: sha256(text), renderedHash: sha256(rendered), statements }
  })
  return Promise.all(texts)
}

/** The values that stand in migrations as `{name}`. All of them are checked here, not escaped. */
function placeholders(database: string, profile: Profile): Readonly<Record<string, string>> {
  const values = {
    database,
    timeZone: profile.timeZone,
    electricUnit: profile.usage.unit.Electric,
    gasUnit: profile.usage.unit.Gas,
    lateAfterSeconds: String(Math.round(profile.usage.lateAfterHours * 3_600)),
  }
  for (const [name, value] of Object.entries(values)) {
    if (/^[A-Za-z0-9_+/-]+$/.test(value)) continue
    throw new Fault(
      'CONFIG',
      `${name} ${JSON.stringify(value)} has characters that SQL gives meaning`,
    )
  }
  return values
}

/** Fills in `{name}`; ClickHouse's own parameters, `{name:Type}`, stay as they are. */
function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{([A-Za-z]+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`migrations know no placeholder {${name}}`)
    return value
  })
}

/** Statements end with a semicolon at the end of a line. */
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

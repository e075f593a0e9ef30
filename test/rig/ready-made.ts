import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createClickHouse } from '../../infra/clickhouse/start.js'
import { packageRoot } from '../../infra/package-root.js'
import { migrate, readStatements } from '../../infra/schema/migrate.js'
import { createStore } from '../../pipeline/store/clickhouse.js'
import type { Profile } from '../../schemas/settings/profile.js'

const root = packageRoot(import.meta.url)
const made = join(root, '.tap', 'ready-made')
const writer = { user: 'writer', password: 'w' }

/**
 * Gives an engine that has not started yet the database of a profile with all its migrations: a
 * copy of a data folder that was made once. An engine that runs its migrations costs more than
 * twice as much processor time. A folder that has data keeps them.
 */
export async function placeReadyMade(dataPath: string, profile: Profile): Promise<void> {
  if (existsSync(join(dataPath, 'store'))) return
  const source = join(made, await keyOf(profile))
  if (!existsSync(source)) await make(source, profile)
  mkdirSync(dataPath, { recursive: true, mode: 0o700 })
  cpSync(join(source, 'store'), join(dataPath, 'store'), {
    recursive: true,
    verbatimSymlinks: true,
  })
}

/** Two processes may make the same folder; the first rename wins, and both folders are alike. */
async function make(path: string, profile: Profile): Promise<void> {
  mkdirSync(made, { recursive: true })
  const dataPath = mkdtempSync(`${path}-`)
  const engine = await createClickHouse({
    dataPath,
    port: 0,
    writer,
    reader: { user: 'reader', password: 'r' },
    memoryBytesMax: 2 * 1024 ** 3,
  })
  const { user: username, password } = writer
  const store = createStore({ url: engine.url, username, password, database: profile.database })
  try {
    await migrate(store, profile)
  } finally {
    await store.close()
    await engine.close()
  }
  try {
    renameSync(dataPath, path)
  } catch (error) {
    if (!existsSync(path)) throw error
    rmSync(dataPath, { recursive: true })
  }
}

/** Of all that decides what a data folder holds: the engine, the schema and the profile's values. */
async function keyOf(profile: Profile): Promise<string> {
  const hash = createHash('sha256')
  const engine = createRequire(import.meta.url).resolve('chdb/package.json')
  hash.update(readFileSync(engine))
  hash.update(JSON.stringify([profile.timeZone, await readStatements(profile)]))
  const schema = join(root, 'infra', 'schema')
  const entries = readdirSync(schema, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  for (const path of files.map((entry) => join(entry.parentPath, entry.name)).sort()) {
    hash.update(path.slice(root.length)).update(readFileSync(path))
  }
  return hash.digest('hex').slice(0, 16)
}

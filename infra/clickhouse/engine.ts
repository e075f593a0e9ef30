import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { Fault } from '../../schemas/fault.js'

/** The native addon of chDB; undocumented, so its version is pinned and tested on upgrades. */
interface Addon {
  EngineVersion(): string
  CreateConnection(path: string, options?: readonly string[]): object
  CloseConnection(connection: object): void
  QueryAsyncConnection(connection: object, sql: string, format: string): Promise<RawResult>
  InsertRawAsyncConnection(
    connection: object,
    sql: string,
    data: Buffer,
    countLines: boolean,
  ): Promise<RawInsert>
  DurableClassifyAsync(
    connection: object,
    sql: string,
  ): Promise<{ readonly statementCount: number }>
}

interface RawResult {
  readonly bytes: Uint8Array
  readonly elapsed: number
  readonly rowsRead: number
  readonly bytesRead: number
}

interface RawInsert {
  readonly elapsed: number
  readonly rowsWritten: number
  readonly bytesWritten: number
}

/** What a statement did; the result of an INSERT is empty. */
export interface StatementOutcome {
  readonly bytes: Buffer
  readonly elapsedNs: number
  readonly isInsert: boolean
  /** Rows of the result, or rows written, and their bytes. */
  readonly rows: number
  readonly rowBytes: number
}

/** A connection with its own settings, parameters and temporary tables; runs one statement at a time. */
export interface Connection {
  query(sql: string, format: string): Promise<StatementOutcome>
  /** Runs any INSERT; `data` follows its FORMAT clause and may be empty. */
  insert(sql: string, data: Buffer): Promise<StatementOutcome>
  statementCount(sql: string): Promise<number>
  /** Must not be called while a statement runs: the engine would abort the process. */
  close(): void
}

export interface Engine {
  readonly version: string
  connect(): Connection
}

/**
 * Opens the ClickHouse engine on a data folder; the only access to chDB. A process can open one folder,
 * and a folder can be opened by one process. It stays open until the process ends.
 */
export function openEngine(dataPath: string, options: readonly string[]): Engine {
  const addon = loadAddon()
  addon.CreateConnection(dataPath, options)
  return {
    version: addon.EngineVersion(),
    connect: () => connectionOf(addon, addon.CreateConnection(dataPath)),
  }
}

const require = createRequire(import.meta.url)

/** The folder of chDB, an optional dependency. Throws `MISSING_PROGRAM` if it is not installed. */
export function findEngine(): string {
  try {
    return dirname(require.resolve('chdb/package.json'))
  } catch (cause) {
    const what = 'the embedded ClickHouse (npm package chdb, optional) is not installed'
    const remedy =
      'install again without --omit=optional, or set CLICKHOUSE_URL to a ClickHouse server'
    throw new Fault('MISSING_PROGRAM', `${what}: ${remedy}`, { cause })
  }
}

function loadAddon(): Addon {
  const loader = join(findEngine(), 'dist', 'loader.js')
  return (require(loader) as { loadNative(): Addon }).loadNative()
}

function connectionOf(addon: Addon, handle: object): Connection {
  return {
    query: async (sql, format) => {
      const raw = await addon.QueryAsyncConnection(handle, sql, format)
      return {
        bytes: Buffer.from(raw.bytes.buffer, raw.bytes.byteOffset, raw.bytes.byteLength),
        elapsedNs: Math.round(raw.elapsed * 1e9),
        isInsert: false,
        rows: raw.rowsRead,
        rowBytes: raw.bytesRead,
      }
    },
    insert: async (sql, data) => {
      const raw = await addon.InsertRawAsyncConnection(handle, sql, data, false)
      return {
        bytes: Buffer.alloc(0),
        elapsedNs: Math.round(raw.elapsed * 1e9),
        isInsert: true,
        rows: raw.rowsWritten,
        rowBytes: raw.bytesWritten,
      }
    },
    statementCount: async (sql) => (await addon.DurableClassifyAsync(handle, sql)).statementCount,
    close: () => addon.CloseConnection(handle),
  }
}

/** Tables that a job makes, also under the name that CREATE OR REPLACE gives them first. */
const madeAgain = /^(staging_\d+_|bill_[a-z]+_\d|_tmp_replace_)/

/**
 * Removes what a kill on a full disk has cut off and the engine would not start on: definitions of tables and
 * mutations. Returns a message about each. `storePath` is the engine's own folder.
 */
export function removeCutOff(storePath: string): readonly string[] {
  const definitions = cutOffDefinitions(storePath)
  const mutations = cutOffMutations(storePath)
  for (const path of [...definitions, ...mutations]) rmSync(path)
  return [
    ...definitions.map((path) => {
      const table = basename(path, '.sql')
      return `The definition of table ${table} was cut off and removed; its job makes it again`
    }),
    ...mutations.map((path) => {
      return `The mutation ${path} was cut off and removed; its job runs it again if it had not ended`
    }),
  ]
}

/** Their jobs find the table gone and make it again; definitions of other tables are left alone. */
function cutOffDefinitions(storePath: string): readonly string[] {
  const databases = join(storePath, 'metadata')
  if (!existsSync(databases)) return []
  return readdirSync(databases, { withFileTypes: true })
    .filter((entry) => entry.isSymbolicLink())
    .flatMap((entry) => {
      // The link ends in the id of the database. In a copied folder it may lead to where the folder was.
      const id = basename(readlinkSync(join(databases, entry.name)))
      const database = join(storePath, 'store', id.slice(0, 3), id)
      return readdirSync(database)
        .filter((file) => madeAgain.test(file) && file.endsWith('.sql'))
        .map((file) => join(database, file))
    })
    .filter((path) => !isWhole(readFileSync(path, 'utf8'), /^ATTACH /))
}

/**
 * A statement that changes rows waits for its end and is run again if it failed, so a mutation that nobody
 * can read any more either has ended or is asked for again.
 */
function cutOffMutations(storePath: string): readonly string[] {
  const tables = join(storePath, 'store')
  return foldersIn(tables)
    .flatMap(foldersIn)
    .flatMap((table) => readdirSync(table).map((file) => join(table, file)))
    .filter((path) => /^mutation_\d+\.txt$/.test(basename(path)))
    .filter((path) => !isWhole(readFileSync(path, 'utf8'), /^commands: /m))
}

function foldersIn(path: string): readonly string[] {
  if (!existsSync(path)) return []
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(path, name))
}

/** The engine ends each definition and each mutation with a new line. */
function isWhole(text: string, part: RegExp): boolean {
  return part.test(text) && text.endsWith('\n')
}

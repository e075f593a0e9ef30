import { fork } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AsServer } from '../../../infra/clickhouse/http/answer.js'
import type { EngineOptions, EngineReport } from '../../../infra/clickhouse/server.js'
import { readStatementsOn } from '../../../infra/schema/migrate.js'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { statementOf } from '../../../pipeline/store/sql.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import { temporaryPlace } from '../folder.js'
import { replicaOfEach } from './topology.js'

export const replicas = ['r1', 'r2'] as const
export type Replica = (typeof replicas)[number]

export interface Replicas {
  /** A store for each replica, of no other. */
  readonly stores: Readonly<Record<Replica, Store>>
  /** Of the engine. */
  readonly pid: number
  close(): Promise<void>
}

const writer = { user: 'writer', password: 'w' }
/**
 * Never reached: the engine counts 2 MB for each insert into a replicated table, and gives none of it back,
 * although its memory does not grow.
 */
const trackedBytesMax = 1024 ** 4
/** No engine is started on the data again, so that they can be in memory. */
const freeBytesMin = 2 * 1024 ** 3
const program = fileURLToPath(new URL('engine-process.js', import.meta.url))

/**
 * One engine with two databases that replicate each other's tables through a Keeper in its memory,
 * with the whole schema. All is gone when it is closed or this process ends.
 */
export async function createReplicas(profile: Profile, asServer?: AsServer): Promise<Replicas> {
  const dataPath = realpathSync(
    mkdtempSync(join(temporaryPlace(freeBytesMin), 'tieline-replicas-')),
  )
  const child = fork(program, { env: { ...process.env, UV_THREADPOOL_SIZE: '64' } })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const options: EngineOptions = {
    dataPath,
    port: 0,
    writer,
    reader: { user: 'reader', password: 'r' },
    memoryBytesMax: trackedBytesMax,
    readable: [],
    auditable: [],
    temporaryPath: dataPath,
    asServer,
  }
  const listening = new Promise<number>((resolve, reject) => {
    child.once('message', (message) => {
      const report = message as EngineReport
      if (report.kind === 'listening') resolve(report.port)
      else reject(new Error(`the engine did not start: ${report.detail}`))
    })
    child.once('exit', () => reject(new Error('the engine ended before it served')))
  })
  child.send(options)
  const stores: Store[] = []
  const close = async () => {
    await Promise.all(stores.map((store) => store.close()))
    if (child.connected) child.disconnect()
    await ended
    rmSync(dataPath, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const url = `http://127.0.0.1:${await listening}`
    for (const replica of ['default', ...replicas]) {
      const { user: username, password } = writer
      const address = { url, username, password, database: replica }
      stores.push(createStore(address, 'verbatim', profile.store))
    }
    const [outside, r1, r2] = stores as [Store, Store, Store]
    for (const database of replicas) await build(outside, { ...profile, database })
    return { stores: { r1, r2 }, pid: child.pid ?? 0, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Not by `migrate`: what the first replica recorded as applied would count for the second one. */
async function build(store: Store, profile: Profile): Promise<void> {
  for (const statement of await readStatementsOn(profile, replicaOfEach)) {
    await store.command({ sql: statementOf(statement) })
  }
}

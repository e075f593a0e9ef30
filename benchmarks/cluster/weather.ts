import { setTimeout as sleep } from 'node:timers/promises'
import { draw } from '../../infra/demo/draw.js'
import { Fault } from '../../schemas/fault.js'
import { lag, synchronize } from '../../test/rig/replicas/lag.js'
import { type Replica, type Replicas, replicas } from '../../test/rig/replicas/start.js'

/** Before these statements something happens far more often than before others. */
const named =
  /ATTACH PARTITION|MODIFY SETTING|RESET SETTING|INSERT INTO (publication|file_state|chunk_receipt|arrival|restatement|erasure)|CREATE TABLE|DELETE/
const lagging = ['file_state', 'publication', 'arrival', 'usage_read', 'audit_log'] as const

/** Claims ask again until a replica has what another client wrote. */
const laggingStatementsMax = 40
const mergeMsMax = 500

export interface Weather {
  /** What is drawn for the moment before a statement. */
  before(text: string, failOver: () => void): Promise<void>
  after(text: string): void
  /** Ends all lag: some statements wait for the other replica. */
  lift(): Promise<void>
  /** Ends all lag and waits until both replicas have everything. */
  clear(): Promise<void>
}

/** What may happen; each schedule has one kind of weather, so that a violation has few causes. */
const kinds = [
  ['stop', 'stop', 'lift', 'merge', 'merge'],
  ['fail over', 'fail over', 'stop', 'lift', 'merge'],
  ['refuse', 'refuse', 'stop', 'lift', 'merge'],
  ['fail over', 'refuse', 'stop', 'stop', 'lift', 'merge'],
] as const

/** Draws lag, merges, fail-over and refusals of Keeper by the seed and the count of statements. */
export function createWeather({ stores }: Replicas, seed: number): Weather {
  const kind: readonly (typeof kinds)[number][number][] =
    kinds[draw(seed, 0, 0) % kinds.length] ?? []
  let count = 0
  let stoppedAt = 0
  let isStopped = false
  const pick = (stream: number, among: number) => draw(seed, stream, count) % among
  const lift = async () => {
    isStopped = false
    for (const replica of replicas) {
      await lag(stores[replica], 'fetches', { to: 'START', tables: lagging })
      await lag(stores[replica], 'replication queues', { to: 'START', tables: lagging })
    }
  }
  const stop = async () => {
    const replica = replicas[pick(3, 2)] as Replica
    const tables = lagging.filter((_, at) => pick(10 + at, 2) === 0)
    const what = pick(4, 2) === 0 ? 'fetches' : 'replication queues'
    await lag(stores[replica], what, { to: 'STOP', tables })
    stoppedAt = count
    isStopped = true
  }
  /** A merge that waits for a queue that was stopped ends the lag. */
  const merge = async () => {
    const store = stores[replicas[pick(5, 2)] as Replica]
    const merging = store.command({
      sql: 'OPTIMIZE TABLE usage_read',
      settings: { alter_sync: 0, lock_acquire_timeout: 1 },
    })
    const isLate = await Promise.race([merging.then(() => false), sleep(mergeMsMax, true)])
    if (isLate) await lift()
    await merging
  }
  return {
    before: async (text, failOver) => {
      count++
      if (isStopped && count - stoppedAt > laggingStatementsMax) await lift()
      if (pick(1, 100) >= (named.test(text) ? 50 : 4)) return
      const what = kind[pick(2, kind.length)]
      if (what === 'fail over') failOver()
      else if (what === 'stop') await stop()
      else if (what === 'lift') await lift()
      else if (what === 'merge') await merge()
      else throw new Fault('STORE_UNREACHABLE', 'Keeper refuses: TABLE_IS_READ_ONLY (242)')
    },
    after: (text) => {
      if (!kind.includes('refuse') || !named.test(text) || pick(6, 100) >= 10) return
      throw new Fault('STORE_UNREACHABLE', 'the answer was lost: KEEPER_EXCEPTION (999)')
    },
    lift,
    clear: async () => {
      await lift()
      for (const replica of replicas) await synchronize(stores[replica])
    },
  }
}

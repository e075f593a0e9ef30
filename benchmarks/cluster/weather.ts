import { setTimeout as sleep } from 'node:timers/promises'
import { ClickHouseError } from '@clickhouse/client'
import { draw } from '../../infra/demo/draw.js'
import { type Store, toStoreFault } from '../../pipeline/store/clickhouse.js'
import type { Fault } from '../../schemas/fault.js'
import { type Lagging, lag, synchronize } from '../../test/rig/replicas/lag.js'
import { type Replica, type Replicas, replicas } from '../../test/rig/replicas/start.js'
import type { MovableClient } from './client.js'

/** Before these statements something happens far more often than before others. */
const named =
  /ATTACH PARTITION|MODIFY SETTING|RESET SETTING|INSERT INTO (publication|file_state|chunk_receipt|arrival|restatement|erasure|registration_fact|tenancy|bill_row|bill_run_row)|CREATE TABLE|DELETE/
const lagging = [
  ...['file_state', 'publication', 'arrival', 'usage_read', 'audit_log', 'chunk_receipt'],
  ...['registration_fact', 'tenancy', 'erasure', 'bill_row', 'bill_run_row', 'schedule_version'],
] as const
/** What may be away at a replica: no look of the watch reads it. */
const leaving = [
  'audit_log',
  'chunk_receipt',
  'registration_fact',
  'reject',
  'account_meter',
] as const

/** Tables of which a replica may not have everything. */
export const behindTables = [...new Set([...lagging, ...leaving])]

/** Claims ask again until a replica has what another client wrote. */
const laggingStatementsMax = 40
const mergeMsMax = 500
/** A statement on a table that lags waits for the other replica, which is not coming. */
const lagMsMax = 30
const slowMs = 150

/** How a server refuses a statement when Keeper or the other replica is away. */
const refusals = {
  '203': 'NO_FREE_CONNECTION',
  '225': 'NO_ZOOKEEPER',
  '242': 'TABLE_IS_READ_ONLY',
  '279': 'ALL_CONNECTION_TRIES_FAILED',
  '285': 'TOO_FEW_LIVE_REPLICAS',
  '999': 'KEEPER_EXCEPTION',
} as const
/** How it says that it does not know whether it carried the statement out. */
const lostAnswers = {
  '209': 'SOCKET_TIMEOUT',
  '319': 'UNKNOWN_STATUS_OF_INSERT',
  '341': 'UNFINISHED',
  '999': 'KEEPER_EXCEPTION',
} as const

/** The client of the schedule. */
export type Moved = Pick<MovableClient, 'current' | 'failOver'>

export interface Weather {
  /** What is drawn for the moment before a statement. */
  before(text: string, client: Moved): Promise<void>
  after(text: string): void
  /** Milliseconds after which a statement waits for a replica that lags. */
  patienceMs(text: string): number
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
  ['leave', 'leave', 'refuse', 'lift', 'merge'],
  ['fail over', 'refuse', 'stop', 'stop', 'lift', 'merge'],
] as const

interface Stopped {
  readonly replica: Replica
  readonly what: Lagging | 'away'
  readonly tables: readonly string[]
}

/** Draws lag, merges, fail-over and refusals by the seed and the count of statements. */
export function createWeather({ stores }: Replicas, seed: number): Weather {
  const kind: readonly (typeof kinds)[number][number][] =
    kinds[draw(seed, 0, 0) % kinds.length] ?? []
  let count = 0
  let stoppedAt = 0
  const stopped: Stopped[] = []
  const pick = (stream: number, among: number) => draw(seed, stream, count) % among
  let last: Promise<void> = Promise.resolve()
  /** A statement may end the lag of another that is just being stopped. */
  const inTurn = (run: () => Promise<void>): Promise<void> => {
    last = last.then(run)
    return last
  }
  const lift = () =>
    inTurn(async () => {
      for (const { replica, what, tables } of stopped.splice(0)) {
        if (what === 'away') await attach(stores[replica], tables)
        else await lag(stores[replica], what, { to: 'START', tables })
      }
    })
  const stop = () => {
    const replica = replicas[pick(3, 2)] as Replica
    const tables = lagging.filter((_, at) => pick(10 + at, 2) === 0)
    const what = pick(4, 2) === 0 ? 'fetches' : 'replication queues'
    stoppedAt = count
    return inTurn(async () => {
      stopped.push({ replica, what, tables })
      await lag(stores[replica], what, { to: 'STOP', tables })
    })
  }
  /** The replica with which the client does not work leaves with some tables. */
  const leave = (replica: Replica) => {
    stoppedAt = count
    return inTurn(async () => {
      if (stopped.some(({ what }) => what === 'away')) return
      stopped.push({ replica, what: 'away', tables: leaving })
      for (const table of leaving) await stores[replica].command({ sql: `DETACH TABLE ${table}` })
    })
  }
  /** A merge that waits for a queue that was stopped ends the lag, whatever is stopped meanwhile. */
  const merge = async () => {
    const store = stores[replicas[pick(5, 2)] as Replica]
    const merging = store.command({
      sql: 'OPTIMIZE TABLE usage_read',
      settings: { alter_sync: 0, lock_acquire_timeout: 1 },
    })
    while (await Promise.race([merging.then(() => false), sleep(mergeMsMax, true)])) await lift()
  }
  const fault = (text: string, errors: Readonly<Record<string, string>>): Fault => {
    const [code, type] = Object.entries(errors)[pick(7, Object.keys(errors).length)] as [
      string,
      string,
    ]
    const error = new ClickHouseError({ code, type, message: 'drawn' })
    return toStoreFault(text, { error, wording: 'verbatim' })
  }
  return {
    before: async (text, client) => {
      count++
      if (stopped.length > 0 && count - stoppedAt > laggingStatementsMax) await lift()
      if (pick(1, 100) >= (named.test(text) ? 50 : 4)) return
      const what = kind[pick(2, kind.length)]
      if (what === 'fail over') client.failOver()
      else if (what === 'leave') await leave(client.current() === 'r1' ? 'r2' : 'r1')
      else if (what === 'stop') await stop()
      else if (what === 'lift') await lift()
      else if (what === 'merge') await merge()
      else throw fault(text, refusals)
    },
    after: (text) => {
      if (!kind.includes('refuse') || !named.test(text) || pick(6, 100) >= 10) return
      throw fault(text, lostAnswers)
    },
    patienceMs: (text) => {
      const [, table = ''] =
        /^\W*(?:INSERT INTO|ALTER TABLE|DELETE FROM|SYSTEM SYNC REPLICA)\s+`?(\w+)/.exec(text) ?? []
      return stopped.some(({ tables }) => tables.includes(table)) ? lagMsMax : slowMs
    },
    lift,
    clear: async () => {
      await lift()
      await Promise.all(replicas.map((replica) => synchronize(stores[replica])))
    },
  }
}

async function attach(replica: Store, tables: readonly string[]): Promise<void> {
  for (const table of tables) await replica.command({ sql: `ATTACH TABLE ${table}` })
}

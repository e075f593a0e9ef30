import { setTimeout as sleep } from 'node:timers/promises'
import { draw } from '../../infra/demo/draw.js'
import type { Settings, Store } from '../../pipeline/store/clickhouse.js'
import { compareWithKeeper, type Lagging, lag, synchronize } from '../../test/rig/replicas/lag.js'
import { type Replica, type Replicas, replicas } from '../../test/rig/replicas/start.js'
import type { MovableClient } from './client.js'
import type { Clock } from './clock.js'
import { type Break, breaks } from './connections.js'
import { drawnFault, type Errors, lostAnswers, refusals } from './faults.js'
import { createKeeper } from './keeper.js'

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

/** The engine compares with Keeper what an insert without an answer has left, so many statements later. */
const unsureStatementsMax = 20
/** Claims ask again until a replica has what another client wrote. */
const laggingStatementsMax = 40
const mergeMsMax = 500
/** A statement on a table that lags waits for the other replica, which is not coming. */
const lagMsMax = 30
const slowMs = 150
/** Characters that name what a statement does, to which table. */
const shapeLength = 60

/** The client of the schedule. */
export type Moved = Pick<MovableClient, 'current' | 'failOver'>

export interface Weather {
  /** What is drawn for the moment before a statement; returns settings with which it is sent. */
  before(text: string, client: Moved): Promise<Settings | undefined>
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
  ['keeper', 'keeper', 'stop', 'lift', 'merge'],
  ['break', 'break', 'stop', 'lift', 'merge'],
  ['keeper', 'break', 'fail over', 'stop', 'lift', 'merge'],
  ['inject', 'inject', 'stop', 'lift', 'merge'],
  ['inject', 'keeper', 'fail over', 'stop', 'lift', 'merge'],
] as const
type Kind = readonly (typeof kinds)[number][number][]

/** Percent of statements before which something happens, before the first time in a job. */
const odds = { named: 50, brokenWrite: 25, other: 4 } as const

/**
 * Draws before which statements of a job something happens. Each time halves the odds of the statement, so
 * that a job of many statements gets to the last ones too, and to its end.
 */
function createOdds(kind: Kind, clock: Clock): (text: string, drawn: number) => boolean {
  const times = new Map<string, number>()
  let job = 0
  return (text, drawn) => {
    if (job !== clock.begun()) times.clear()
    job = clock.begun()
    const isBroken =
      (kind.includes('break') || kind.includes('inject')) && !/^\W*(SELECT|WITH)/.test(text)
    const first = named.test(text) ? odds.named : isBroken ? odds.brokenWrite : odds.other
    const shape = text.replace(/\d+/g, '').slice(0, shapeLength)
    const before = times.get(shape) ?? 0
    if (drawn >= first / 2 ** before) return false
    times.set(shape, before + 1)
    return true
  }
}

interface Stopped {
  readonly replica: Replica
  readonly what: Lagging | 'away'
  readonly tables: readonly string[]
}

export interface WeatherOptions {
  readonly seed: number
  readonly clock: Clock
  /** Breaks the connection of the next statement. */
  readonly breakNext: (how: Break) => void
}

/** Draws lag, merges, fail-over, refusals and broken connections by the seed and the count of statements. */
export function createWeather(
  { stores }: Replicas,
  { seed, clock, breakNext }: WeatherOptions,
): Weather {
  const kind: Kind = kinds[draw(seed, 0, 0) % kinds.length] ?? []
  const happens = createOdds(kind, clock)
  let count = 0
  let stoppedAt = 0
  let injectedAt: number | undefined
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
  const compare = () =>
    inTurn(async () => {
      injectedAt = undefined
      for (const replica of replicas) await compareWithKeeper(stores[replica])
    })
  const inject = (): Settings => {
    injectedAt ??= count
    return keeper.failing()
  }
  const keeper = createKeeper(clock, pick)
  const fault = (text: string, errors: Errors) => drawnFault(text, errors, (all) => pick(7, all))
  /** A statement that was left waits for a replica, and nobody for it. */
  const breakOne = () => {
    breakNext(breaks[pick(8, breaks.length)] as Break)
    setTimeout(lift, slowMs)
  }
  const happen = async (text: string, client: Moved): Promise<Settings | undefined> => {
    if (!happens(text, pick(1, 100))) return undefined
    const what = kind[pick(2, kind.length)]
    if (what === 'fail over') client.failOver()
    else if (what === 'leave') await leave(client.current() === 'r1' ? 'r2' : 'r1')
    else if (what === 'stop') await stop()
    else if (what === 'lift') await lift()
    else if (what === 'merge') await merge()
    else if (what === 'break') breakOne()
    else if (what === 'keeper') keeper.leave(client.current())
    else if (what === 'inject') return inject()
    else throw fault(text, refusals)
    return undefined
  }
  return {
    before: async (text, client) => {
      count++
      if (stopped.length > 0 && count - stoppedAt > laggingStatementsMax) await lift()
      if (injectedAt !== undefined && count - injectedAt > unsureStatementsMax) await compare()
      const settings = await happen(text, client)
      const refusal = keeper.refusal(text, client.current())
      if (refusal !== undefined) throw refusal
      return settings
    },
    after: (text) => {
      const lost = keeper.lost(text)
      if (lost !== undefined) throw lost
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
      await compare()
      await Promise.all(replicas.map((replica) => synchronize(stores[replica])))
    },
  }
}

async function attach(replica: Store, tables: readonly string[]): Promise<void> {
  for (const table of tables) await replica.command({ sql: `ATTACH TABLE ${table}` })
}

import type { Settings } from '../../pipeline/store/clickhouse.js'
import type { Fault } from '../../schemas/fault.js'
import { type Replica, replicas } from '../../test/rig/replicas/start.js'
import type { Clock } from './clock.js'
import { drawnFault, lostInKeeper, withoutKeeper } from './faults.js'

/** Keeper as the replicas see it: it leaves one or both of them for a while. */
export interface Keeper {
  leave(replica: Replica): void
  /** The refusal of a statement that needs Keeper. */
  refusal(text: string, replica: Replica): Fault | undefined
  /** The error of a statement in whose middle Keeper was lost, which was carried out. */
  lost(text: string): Fault | undefined
  /** Settings of an insert in which the engine itself loses Keeper, before or after one of its requests. */
  failing(): Settings
}

/** Staging and tables of a run of bills are on one server, without Keeper. */
const needsKeeper =
  /^\W*(INSERT INTO|ALTER TABLE|DELETE FROM|SYSTEM SYNC REPLICA)\s+(?!\s|`?(staging_|bill_[a-z]+_\d))/
/** A replica that knows that it has lost Keeper says so. */
const asksReplicas = /FROM system\.replicas/
/** It is away for one second of the schedule, or twice, 4 times ... 32 times as long. */
const awayMs = 1_000
const doublings = 6
/** An insert has some ten requests. */
const lostShare = 0.1

export function createKeeper(
  clock: Clock,
  pick: (stream: number, among: number) => number,
): Keeper {
  let backMs = 0
  let from: readonly Replica[] = []
  let isKnown = false
  let isLosing = false
  return {
    leave: (replica) => {
      backMs = clock.now() + awayMs * 2 ** pick(30, doublings)
      from = pick(31, 2) === 0 ? replicas : [replica]
      isKnown = pick(32, 2) === 0
      isLosing = pick(33, 2) === 0
    },
    refusal: (text, replica) => {
      if (clock.now() >= backMs || !from.includes(replica) || isLosing) return undefined
      if (!needsKeeper.test(text) && !(isKnown && asksReplicas.test(text))) return undefined
      return drawnFault(text, withoutKeeper, (among) => pick(34, among))
    },
    lost: (text) => {
      if (clock.now() >= backMs || !isLosing || !needsKeeper.test(text)) return undefined
      isLosing = false
      return drawnFault(text, lostInKeeper, (among) => pick(35, among))
    },
    failing: () => ({
      insert_keeper_fault_injection_probability: lostShare,
      insert_keeper_fault_injection_seed: 1 + pick(36, 2 ** 31),
      insert_keeper_max_retries: 0,
    }),
  }
}

import type { Queues } from '../../../pipeline/queues/bullmq.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import type { Sql } from '../../../pipeline/store/sql.js'
import { Fault } from '../../../schemas/fault.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import type { Zone } from '../../../schemas/time/zone.js'
import { withTimeout } from '../../metrics/collect.js'
import { queryBounds } from '../../metrics/ledger.js'
import type { Judge } from '../judge.js'

/** What panels read; the store is read-only. */
export interface PanelSource {
  readonly store: Store
  readonly queues: Queues
  readonly profile: Profile
  readonly zone: Zone
  /** The folder whose disk files land on. */
  readonly landing: string
  readonly now: () => Date
  readonly judge: Judge
}

const queuesMsMax = 2_500

/** A result of the queues; Redis that does not answer in time is unreachable. */
export async function queryQueues<T>(result: Promise<T>, msMax = queuesMsMax): Promise<T> {
  try {
    return await withTimeout(result, msMax)
  } catch (cause) {
    if (!(cause instanceof Fault && cause.code === 'OVERLOAD')) throw cause
    throw new Fault('QUEUE_UNREACHABLE', `Redis: ${cause.detail}`, { cause })
  }
}

/** Rows of a statement, within the bounds of a panel. */
export function query<T>({ store }: Pick<PanelSource, 'store'>, sql: Sql) {
  return store.rows<T>({ sql, settings: queryBounds })
}

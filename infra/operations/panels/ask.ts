import type { Queues } from '../../../pipeline/queues/bullmq.js'
import type { Statement, Store } from '../../../pipeline/store/clickhouse.js'
import { Fault } from '../../../schemas/fault.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import type { Zone } from '../../../schemas/time/zone.js'
import { queryBounds } from '../../metrics/ledger.js'
import { withTimeout } from '../../metrics/collect.js'

/** What panels ask of; the store lets them read only. */
export interface PanelSource {
  readonly store: Store
  readonly queues: Queues
  readonly profile: Profile
  readonly zone: Zone
  /** The folder whose disk files land on. */
  readonly landing: string
  readonly now: () => Date
}

const queuesMsMax = 2_500

/** What the queues say; Redis that does not answer in time is away. */
export async function askQueues<T>(asked: Promise<T>, msMax = queuesMsMax): Promise<T> {
  try {
    return await withTimeout(asked, msMax)
  } catch (cause) {
    if (!(cause instanceof Fault && cause.code === 'OVERLOAD')) throw cause
    throw new Fault('QUEUE_UNREACHABLE', `Redis gives ${cause.detail}`, { cause })
  }
}

/** Rows of a statement within those bounds. */
export function ask<T>({ store }: Pick<PanelSource, 'store'>, statement: Statement) {
  return store.rows<T>({ ...statement, settings: { ...statement.settings, ...queryBounds } })
}

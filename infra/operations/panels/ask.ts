import type { Queues } from '../../../pipeline/queues/bullmq.js'
import type { Statement, Store } from '../../../pipeline/stores/clickhouse.js'
import { Fault } from '../../../schemas/fault.js'
import type { Profile } from '../../../schemas/profile.js'
import type { Zone } from '../../../schemas/zone.js'
import { within } from '../../metrics/look.js'

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

/** What one statement of the page may cost: one thread for two seconds, 256 MiB. */
const settings = {
  max_execution_time: 2,
  max_threads: 1,
  max_memory_usage: 256 * 1024 * 1024,
} as const

const queuesMsMax = 2_500

/** What the queues say; Redis that does not answer in time is away. */
export async function askQueues<T>(asked: Promise<T>): Promise<T> {
  try {
    return await within(asked, queuesMsMax)
  } catch (cause) {
    if (!(cause instanceof Fault && cause.code === 'OVERLOAD')) throw cause
    throw new Fault('QUEUE_UNREACHABLE', `Redis gives ${cause.detail}`, { cause })
  }
}

/** Rows of a statement within those bounds. */
export function ask<T>({ store }: Pick<PanelSource, 'store'>, statement: Statement) {
  return store.rows<T>({ ...statement, settings: { ...statement.settings, ...settings } })
}

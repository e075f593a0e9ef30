import type { Store } from '../../../pipeline/store/clickhouse.js'
import { Fault } from '../../../schemas/fault.js'
import type { Found } from './bill-case.js'
import { until } from './stack.js'

/** The tables that runs work in: those of runs that were killed stay for a day. */
async function workTables(store: Store): Promise<readonly string[]> {
  const sql = `SELECT name FROM system.tables
    WHERE database = currentDatabase() AND match(name, '^bill_vector_[0-9]')`
  try {
    return (await store.rows<{ name: string }>({ sql })).map(({ name }) => name)
  } catch (error) {
    if (error instanceof Fault && error.retry) return []
    throw error
  }
}

/** Waits until a run is at work that was not yet when this was called. */
export async function untilAtWork(store: Store): Promise<void> {
  const before = await workTables(store)
  await until(async () => (await workTables(store)).some((name) => !before.includes(name)))
}

/** What readers see of the bill, all the while, until it is as it is to be. */
export async function lookUntil(
  read: () => Promise<readonly Found[]>,
  total: number,
): Promise<readonly string[]> {
  const seen = new Set<string>()
  await until(async () => {
    const found = await read().catch((error: unknown) => {
      if (error instanceof Fault && error.retry) return undefined
      throw error
    })
    if (found === undefined) return false
    const sums = found.map(({ lines }) => lines.reduce((sum, { amount }) => sum + amount, 0))
    seen.add(found.map((one, at) => `${one.total} of ${sums[at]?.toFixed(2)}`).join())
    return found[0]?.total === total
  })
  return [...seen]
}

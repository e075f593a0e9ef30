import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'

const minuteMs = 60_000

/**
 * How the clock of this machine differs from that of ClickHouse, by more than a minute; undefined otherwise. A
 * clock that is days behind refuses good reads: they would be of the future.
 */
export async function findClockDifference(
  store: Pick<Store, 'rows'>,
  now: () => number = Date.now,
): Promise<string | undefined> {
  const beforeMs = now()
  const [row] = await store.rows<{ ms: string }>({
    sql: sql`SELECT toUnixTimestamp64Milli(now64(3)) AS ms`,
  })
  const [engineMs, afterMs] = [Number(row?.ms), now()]
  // In between, either may be right: the answer itself took as long.
  const aheadMs = engineMs < beforeMs ? beforeMs - engineMs : Math.min(afterMs - engineMs, 0)
  if (!(Math.abs(aheadMs) > minuteMs)) return undefined
  const text = (ms: number) => new Date(ms).toISOString()
  const minutes = Math.round(Math.abs(aheadMs) / minuteMs)
  const side = aheadMs > 0 ? 'ahead of' : 'behind'
  return `the clock of this machine (${text(afterMs)}) is ${minutes} minutes ${side} that of ClickHouse (${text(engineMs)})`
}

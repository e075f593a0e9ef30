import type { Store } from '../../pipeline/store/clickhouse.js'

type Settings = Readonly<Record<string, string | number>>

/**
 * What the engine may be run with on two cores. The fastest of the warm-up is measured, so that
 * Tieline is held against the best that one typed statement can do.
 */
const candidates: readonly Settings[] = [
  { max_insert_threads: 1 },
  { max_insert_threads: 2 },
  { max_insert_threads: 2, optimize_on_insert: 0 },
  { max_insert_threads: 2, optimize_on_insert: 0, max_parsing_threads: 2, max_threads: 2 },
]

const table = 'bench_engine_alone'

/** One typed `INSERT ... SELECT FROM file(...)` into a table like the target, over HTTP. */
export interface EngineAlone {
  /** Tries all candidates once and keeps the fastest; returns its settings. */
  warmUp(path: string): Promise<Settings>
  /** Seconds from statement to answer, the table being empty before and after. */
  measure(path: string): Promise<number>
}

/** The table has the structure, order and codecs of `usage_read`, and need not flush to disk. */
export async function createEngineAlone(store: Store, timeZone: string): Promise<EngineAlone> {
  await store.command({
    sql: `CREATE TABLE ${table} AS usage_read ENGINE = ReplacingMergeTree(version)
      ORDER BY (local_day, meter_id, starts_at, seconds)`,
  })
  let best = candidates[0] as Settings
  const insert = async (path: string, settings: Settings) => {
    const from = performance.now()
    await store.command({
      sql: statement(timeZone),
      parameters: { path },
      settings: { ...settings, date_time_input_format: 'best_effort_us' },
    })
    const seconds = (performance.now() - from) / 1_000
    await store.command({ sql: `TRUNCATE TABLE ${table} SYNC` })
    return seconds
  }
  return {
    warmUp: async (path) => {
      await insert(path, best)
      let least = Number.POSITIVE_INFINITY
      for (const settings of candidates) {
        const seconds = await insert(path, settings)
        if (seconds < least) best = settings
        least = Math.min(least, seconds)
      }
      return best
    },
    measure: (path) => insert(path, best),
  }
}

function statement(timeZone: string): string {
  const columns = [
    'AccountNumber String',
    'ExternalSiteID String',
    'MeterID String',
    `TimeStamp DateTime(''${timeZone}'')`,
    'TotalUnit Decimal(18, 6)',
  ].join(', ')
  return `INSERT INTO ${table}
  (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
   account_number, external_site_id, version)
SELECT MeterID, 'Electric', TimeStamp, 900, toDate(TimeStamp), toHour(TimeStamp), TotalUnit,
  AccountNumber, ExternalSiteID, 4294967296 + rowNumberInAllBlocks()
FROM file({path:String}, CSVWithNames, '${columns}')`
}

import type { Statement, Store } from './clickhouse.js'
import { createReads, stagingOf } from './staging.js'

/** A meter that the staged rows must not keep as they are. */
export interface MeterRepair {
  readonly meterId: string
  /** The length that its reads really have, seconds; 0 takes its rows out. */
  readonly seconds: number
}

/**
 * Copies `reads` into `fixed` with the right interval lengths, and without the meters whose rows
 * are not usable or not wanted.
 */
export async function repairMeters(
  store: Store,
  arrival: number,
  repairs: readonly MeterRepair[],
): Promise<void> {
  const { reads, fixed, repairs: table } = stagingOf(arrival)
  await store.command({
    sql: `CREATE OR REPLACE TABLE ${table} (meter_id String, seconds UInt32)
      ENGINE = MergeTree ORDER BY meter_id`,
  })
  await store.insert(
    table,
    repairs.map(({ meterId, seconds }) => ({ meter_id: meterId, seconds })),
  )
  await store.command(createReads(fixed, 'CREATE OR REPLACE TABLE'))
  await store.command({
    sql: `INSERT INTO ${fixed}
      SELECT r.* REPLACE(if(m.meter_id = '', r.seconds, m.seconds) AS seconds)
      FROM ${reads} AS r LEFT ANY JOIN ${table} AS m ON m.meter_id = r.meter_id
      WHERE m.meter_id = '' OR m.seconds != 0`,
    settings: { optimize_on_insert: 0 },
  })
}

/** The rows of some meters that stand in `reads`, by line. */
export function linesOfMeters(arrival: number, meterIds: readonly string[]): Statement {
  return {
    sql: `SELECT toUInt32(bitAnd(version, 4294967295)) AS line,
        toString(toInt128(quantity * 1000000)) AS micros
      FROM ${stagingOf(arrival).reads}
      WHERE meter_id IN ({meterIds:Array(String)}) ORDER BY line`,
    parameters: { meterIds: [...meterIds] },
  }
}

import type { Store } from './clickhouse.js'
import { stagingOf } from './staging.js'

/** What a staging table holds as a whole. Quantities are decimal strings, as sent. */
export interface StagingTotals {
  readonly rows: number
  readonly quantity: string
  /** Rows whose meter, interval start and length no later row of the file repeats. */
  readonly survivors: number
  readonly meters: number
  readonly firstDay: string
  readonly lastDay: string
  readonly firstIntervalStart: number
  readonly lastIntervalEnd: number
}

export async function totalStaging(store: Store, arrival: number): Promise<StagingTotals> {
  const { reads } = stagingOf(arrival)
  const [totals] = await store.rows<Record<string, string | number>>({
    sql: `SELECT count() AS rows, toString(sum(quantity)) AS quantity,
      toString(min(local_day)) AS first_day, toString(max(local_day)) AS last_day,
      toUnixTimestamp(min(starts_at)) AS first, toUnixTimestamp(max(starts_at + seconds)) AS last
      FROM ${reads}`,
  })
  const [keys] = await store.rows<{ survivors: string }>({
    sql: `SELECT count() AS survivors FROM ${reads} FINAL`,
  })
  const [meters] = await store.rows<{ meters: string }>({
    sql: `SELECT uniqExact(meter_id) AS meters
      FROM (SELECT DISTINCT local_day, meter_id FROM ${reads})
      SETTINGS optimize_distinct_in_order = 1`,
  })
  return {
    rows: Number(totals?.['rows'] ?? 0),
    quantity: String(totals?.['quantity'] ?? '0'),
    survivors: Number(keys?.survivors ?? 0),
    meters: Number(meters?.meters ?? 0),
    firstDay: String(totals?.['first_day']),
    lastDay: String(totals?.['last_day']),
    firstIntervalStart: Number(totals?.['first'] ?? 0),
    lastIntervalEnd: Number(totals?.['last'] ?? 0),
  }
}

/** Rows and quantities by what they turned out to be. */
export interface Repeats {
  readonly duplicate: { readonly rows: number; readonly quantity: string }
  readonly superseded: { readonly rows: number; readonly quantity: string }
}

/**
 * Rows of a file that a later row of the same file repeats: duplicate where they equal the last
 * one of their key, else superseded.
 */
export async function repeatsWithin(store: Store, arrival: number): Promise<Repeats> {
  const [row] = await store.rows<RepeatRow>({
    sql: `SELECT toString(sum(length(same))) AS duplicate_rows,
        toString(sum(arraySum(row -> row.1, same))) AS duplicate_quantity,
        toString(sum(length(others))) AS superseded_rows,
        toString(sum(arraySum(row -> row.1, others))) AS superseded_quantity
      FROM (
        SELECT
          arraySort(row -> -toInt64(row.4),
            groupArray((quantity, account_number, external_site_id, version))) AS rows,
          arrayFilter(row -> (row.1, row.2, row.3) = (rows[1].1, rows[1].2, rows[1].3),
            arraySlice(rows, 2)) AS same,
          arrayFilter(row -> (row.1, row.2, row.3) != (rows[1].1, rows[1].2, rows[1].3),
            arraySlice(rows, 2)) AS others
        FROM ${stagingOf(arrival).reads}
        GROUP BY local_day, meter_id, starts_at, seconds
        HAVING count() > 1
        SETTINGS optimize_aggregation_in_order = 1
      )`,
  })
  return toRepeats(row)
}

export interface Overlap extends Repeats {
  readonly restated: { readonly rows: number; readonly netQuantity: string }
}

const sameRead = `(s.quantity, s.account_number, s.external_site_id) =
  (c.quantity, c.account_number, c.external_site_id)`

/**
 * What of a file stands in the store already: rows equal to the current read, rows that a later
 * arrival has replaced before this file was published, and reads that this file restates.
 */
export async function overlapWithStore(
  store: Store,
  arrival: number,
  days: { readonly first: string; readonly last: string },
): Promise<Overlap> {
  const { reads } = stagingOf(arrival)
  const [row] = await store.rows<RepeatRow & { restated_rows: string; net_quantity: string }>({
    sql: `SELECT
        toString(countIf(${sameRead})) AS duplicate_rows,
        toString(sumIf(s.quantity, ${sameRead})) AS duplicate_quantity,
        toString(countIf(NOT ${sameRead} AND c.version > s.version)) AS superseded_rows,
        toString(sumIf(s.quantity, NOT ${sameRead} AND c.version > s.version)) AS superseded_quantity,
        toString(countIf(s.quantity != c.quantity AND c.version < s.version)) AS restated_rows,
        toString(sumIf(s.quantity - c.quantity, c.version < s.version)) AS net_quantity
      FROM (SELECT * FROM ${reads} FINAL) AS s
      INNER JOIN (
        SELECT * FROM usage_current
        WHERE local_day BETWEEN {first:Date} AND {last:Date}
          AND meter_id IN (SELECT DISTINCT meter_id FROM ${reads})
          AND arrival != {arrival:UInt32}
      ) AS c USING (local_day, meter_id, starts_at, seconds)
      SETTINGS join_algorithm = 'full_sorting_merge'`,
    parameters: { first: days.first, last: days.last, arrival },
  })
  return {
    ...toRepeats(row),
    restated: {
      rows: Number(row?.restated_rows ?? 0),
      netQuantity: row?.net_quantity ?? '0',
    },
  }
}

/** Whether any published read lies in the days of a file; without one there is no overlap. */
export async function storeHasDays(
  store: Store,
  days: { readonly first: string; readonly last: string },
): Promise<boolean> {
  const rows = await store.rows({
    sql: `SELECT 1 FROM usage_read WHERE local_day BETWEEN {first:Date} AND {last:Date} LIMIT 1`,
    parameters: { first: days.first, last: days.last },
  })
  return rows.length > 0
}

interface RepeatRow {
  readonly duplicate_rows: string
  readonly duplicate_quantity: string
  readonly superseded_rows: string
  readonly superseded_quantity: string
}

function toRepeats(row: RepeatRow | undefined): Repeats {
  return {
    duplicate: {
      rows: Number(row?.duplicate_rows ?? 0),
      quantity: row?.duplicate_quantity ?? '0',
    },
    superseded: {
      rows: Number(row?.superseded_rows ?? 0),
      quantity: row?.superseded_quantity ?? '0',
    },
  }
}

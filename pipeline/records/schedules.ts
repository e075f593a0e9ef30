import { recordFeedOf } from '../../schemas/feed.js'
import type { RegisteredMeters } from '../../schemas/lint/finding.js'
import { type RecordFeed, type RecordRow, storeColumn } from '../../schemas/record-feed.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, join, type Sql, sql, typed } from '../store/sql.js'
import { stagingOf } from '../store/staging.js'
import { versionOf } from '../store/versions.js'
import { rowsTable } from './store.js'

/** Columns as text under the names of the file, so that they read like rows of it. */
export function asRow({ columns }: RecordFeed): Sql {
  return join(
    columns.map((column) => sql`toString(${id(storeColumn(column))}) AS ${id(column)}`),
    sql`, `,
  )
}

export interface StagedRow {
  readonly line: number
  readonly row: RecordRow
}

export type Selected = Readonly<Record<string, string | null>>

export function toRow(feed: RecordFeed, found: Selected): RecordRow {
  return Object.fromEntries(feed.columns.map((column) => [column, found[column] ?? null]))
}

/** All rows of a staged file, in its order. */
export async function stagedRows(
  store: Store,
  feed: RecordFeed,
  arrival: number,
): Promise<readonly StagedRow[]> {
  return readRows(store, feed, {
    sql: sql`SELECT toString(version) AS at, ${asRow(feed)} FROM ${id(stagingOf(arrival).reads)} ORDER BY version`,
  })
}

async function readRows(
  store: Store,
  feed: RecordFeed,
  statement: Statement,
): Promise<readonly StagedRow[]> {
  const rows = await store.rows<Selected>(statement)
  return rows.map((row) => ({
    line: Number(BigInt(row['at'] ?? 0) & 0xffffffffn),
    row: toRow(feed, row),
  }))
}

/** A published version of a schedule. */
export interface Version {
  readonly arrival: number
  readonly firstStart: string
  readonly rows: readonly StagedRow[]
}

/** The latest published version of a company's schedule with its rows, beside one arrival. */
export async function latestVersion(
  store: Store,
  feed: RecordFeed,
  file: { readonly companyCode: string; readonly arrival: number },
): Promise<Version | undefined> {
  const [found] = await store.rows<{ arrival: number; first_start: string }>({
    sql: sql`SELECT toUInt32(arrival) AS arrival, toString(first_start) AS first_start
      FROM schedule_in_force
      WHERE feed = ${feed.name} AND company_code = ${file.companyCode}
        AND arrival != ${file.arrival}
      ORDER BY arrival DESC LIMIT 1`,
  })
  if (found === undefined) return undefined
  const rows = await readRows(store, feed, {
    sql: sql`SELECT toString(version) AS at, ${asRow(feed)} FROM ${id(rowsTable(feed))} FINAL
      WHERE version >= ${typed('UInt64', versionOf(found.arrival, 0))}
        AND version < ${typed('UInt64', versionOf(found.arrival + 1, 0))}
      ORDER BY version`,
  })
  return { arrival: found.arrival, firstStart: found.first_start, rows }
}

/** The rows of a company's schedule that are in force and have not ended before a day. */
export async function rowsInForce(
  store: Store,
  feed: RecordFeed,
  at: { readonly companyCode: string; readonly day: string },
): Promise<readonly RecordRow[]> {
  const { schedule } = recordFeedOf(feed.name) as RecordFeed
  const ends = schedule?.ends
  const rows = await store.rows<Selected>({
    sql: sql`SELECT ${asRow(feed)} FROM ${id(feed.view)} WHERE company_code = ${at.companyCode}`,
  })
  return rows
    .map((row) => toRow(feed, row))
    .filter((row) => {
      const end = ends === undefined ? '' : (row[ends] ?? '')
      return !/^\d/.test(end) || end >= at.day
    })
}

/**
 * Writes down that a file is a version of its schedule and since when its rows count. Readers see
 * it once the file is published.
 */
export function recordVersion(
  feed: RecordFeed,
  file: { readonly arrival: number; readonly companyCode: string; readonly table: string },
): Statement {
  const { arrival, companyCode, table } = file
  const starts = feed.schedule?.starts
  const first = starts === undefined ? undefined : sql`toString(${id(storeColumn(starts))})`
  const start =
    first === undefined ? sql`'1970-01-01'` : sql`if(${first} LIKE '--%', '1970-01-01', ${first})`
  return {
    sql: sql`INSERT INTO schedule_version (arrival, feed, company_code, first_start)
      SELECT ${typed('UInt32', arrival)}, ${feed.name}, ${companyCode}, toDate(min(${start}))
      FROM ${id(table)}`,
  }
}

/** What registrations say of rate codes, units and cycles, with their meters. */
export async function registeredCodes(store: Store): Promise<RegisteredMeters> {
  const [rates, cycles] = await Promise.all([
    store.rows<{ code: string; unit: string; meters: string }>({
      sql: sql`SELECT toString(rate_code) AS code, toString(unit_of_measure) AS unit,
          toString(uniqExact(meter_id)) AS meters
        FROM tenancy FINAL WHERE valid_to IS NULL GROUP BY code, unit ORDER BY code, unit`,
    }),
    store.rows<{ code: string; meters: string }>({
      sql: sql`SELECT toString(billing_cycle_id) AS code, toString(uniqExact(meter_id)) AS meters
        FROM tenancy FINAL WHERE valid_to IS NULL GROUP BY code ORDER BY code`,
    }),
  ])
  return {
    rates: rates.map(({ code, unit, meters }) => ({
      rateCode: code,
      unit,
      meters: Number(meters),
    })),
    cycles: cycles.map(({ code, meters }) => ({ cycleId: code, meters: Number(meters) })),
  }
}

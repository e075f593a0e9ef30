import { recordFeedOf } from '../../schemas/feed.js'
import type { RegisteredMeters } from '../../schemas/lint/finding.js'
import { type RecordFeed, type RecordRow, storeColumn } from '../../schemas/record-feed.js'
import type { FileState } from '../ledger/file-state.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, join, type Sql, sql, typed } from '../store/sql.js'
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
  table: string,
): Promise<readonly StagedRow[]> {
  return readRows(store, feed, {
    sql: sql`SELECT toString(version) AS at, ${asRow(feed)} FROM ${id(table)} ORDER BY version`,
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

/** Rows of `schedule_in_force` that no later version has replaced. */
export const isNotReplaced = sql`replaced_from = '2149-06-06'`

/** A published version of a schedule. */
export interface Version {
  readonly arrival: number
  readonly fileName: string
  /** The first day on which it applies to each of its codes, and under '' to those that it lacks. */
  readonly starts: ReadonlyMap<string, string>
  readonly rows: readonly StagedRow[]
}

/** The latest published version of a company's schedule with its rows, beside one arrival. */
export async function latestVersion(
  store: Store,
  feed: RecordFeed,
  file: { readonly companyCode: string; readonly arrival: number },
): Promise<Version | undefined> {
  const found = await store.rows<{ at: number; name: string; code: string; start: string }>({
    sql: sql`SELECT toUInt32(v.arrival) AS at, a.name AS name, v.code AS code, toString(v.first_start) AS start
      FROM schedule_in_force AS v INNER JOIN arrival AS a ON a.arrival = v.arrival
      WHERE v.feed = ${feed.name} AND v.company_code = ${file.companyCode} AND v.arrival != ${file.arrival}
      ORDER BY at DESC LIMIT 1 WITH TIES`,
  })
  const [first] = found
  if (first === undefined) return undefined
  const { at: arrival, name: fileName } = first
  const rows = await readRows(store, feed, {
    sql: sql`SELECT toString(version) AS at, ${asRow(feed)} FROM ${id(rowsTable(feed))} FINAL
      WHERE version >= ${typed('UInt64', versionOf(arrival, 0))}
        AND version < ${typed('UInt64', versionOf(arrival + 1, 0))}
      ORDER BY version`,
  })
  return { arrival, fileName, starts: new Map(found.map(({ code, start }) => [code, start])), rows }
}

/** The rows of a company's schedule that no later version has replaced and that have not ended before a day. */
export async function rowsInForce(
  store: Store,
  feed: RecordFeed,
  at: { readonly companyCode: string; readonly day: string },
): Promise<readonly RecordRow[]> {
  const { schedule } = recordFeedOf(feed.name) as RecordFeed
  const ends = schedule?.ends
  const code = schedule?.code === undefined ? sql`''` : id(storeColumn(schedule.code))
  const rows = await store.rows<Selected>({
    sql: sql`SELECT ${asRow(feed)} FROM ${id(feed.view)}
      WHERE company_code = ${at.companyCode} AND (bitShiftRight(version, 32), ${code}) IN (
        SELECT arrival, code FROM schedule_in_force
        WHERE feed = ${feed.name} AND ${isNotReplaced})`,
  })
  return rows
    .map((row) => toRow(feed, row))
    .filter((row) => {
      const end = ends === undefined ? '' : (row[ends] ?? '')
      return !/^\d/.test(end) || end >= at.day
    })
}

/**
 * Records that a file is a version of its schedule, and from which day it applies to each code: to those with
 * rows of every year, and those that it lacks, from the day of the file. Readers see it once the file is published.
 */
export function recordVersion(
  { name, schedule }: RecordFeed,
  file: Pick<FileState, 'arrival' | 'companyCode' | 'fileDate'> & { readonly table: string },
): Statement {
  const { arrival, companyCode, fileDate = '1970-01-01', table } = file
  const { starts, code } = schedule ?? {}
  const first = starts === undefined ? sql`'1970-01-01'` : sql`toString(${id(storeColumn(starts))})`
  const start = sql`toDate(if(${first} LIKE '--%', ${fileDate}, ${first}))`
  const version = sql`${typed('UInt32', arrival)}, ${name}, ${companyCode}`
  const others =
    code === undefined ? sql`min(start)` : sql`greatest(min(start), ${typed('Date', fileDate)})`
  const codes =
    code === undefined
      ? sql``
      : sql` UNION ALL SELECT ${version}, code, min(start) FROM rows GROUP BY code`
  return {
    sql: sql`INSERT INTO schedule_version (arrival, feed, company_code, code, first_start)
      WITH rows AS (
        SELECT ${code === undefined ? sql`''` : id(storeColumn(code))} AS code, ${start} AS start FROM ${id(table)})
      SELECT ${version}, '', ${others} FROM rows${codes}`,
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

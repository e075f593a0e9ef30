import type { Classes } from '../../schemas/rating/classes.js'
import { type Slots, slotSeconds } from '../../schemas/rating/slots.js'
import type { Statement } from '../stores/clickhouse.js'
import { passes } from './compile.js'
import type { RunTables } from './members.js'

export function createVectors({ vectors }: RunTables): Statement {
  return {
    sql: `CREATE TABLE ${vectors}
      (
        meter_id String, external_site_id String, account_number String, client_id String,
        pass UInt8, seconds UInt32, vector Array(Int64), present UInt32, negative UInt32
      )
      ENGINE = MergeTree ORDER BY meter_id`,
  }
}

export interface Scan {
  readonly tables: RunTables
  readonly slots: Slots
  readonly classes: Classes
  /** The slots of the period, the second one exclusive. */
  readonly period: { readonly from: number; readonly to: number }
  /** Reads as they were known at an instant, ISO 8601; the current ones where not given. */
  readonly asOf?: string
}

/** What `usage_read.series` holds of the reads of an account at a premise. */
const seriesOf = (account: string, site: string) => `cityHash64(${account}, ${site}, seconds)`

/** Quarter hours without a class ahead of the first: the days asked for begin less than one earlier. */
const slotsAhead = 96

/**
 * Reads as all scans take them; what a day's read has lies around its noon. A read outside the slots
 * is of class 0, which no vector takes.
 */
function readsOf({ slots, classes, asOf }: Scan): string {
  const codes = [...new Uint8Array(slotsAhead), ...Array.from(classes.classOf, (one) => one + 1)]
  const series = asOf === undefined ? 'series' : seriesOf('account_number', 'external_site_id')
  const source = asOf === undefined ? 'usage_current' : `usage_as_of(known_at = '${asOf}')`
  const day = (slot: number) => slots.day[Math.min(Math.max(slot, 0), slots.count - 1)] as number
  return `
    WITH [${codes.join(',')}] AS classes
    SELECT meter_id, external_site_id, account_number, starts_at, local_day, seconds, ${series} AS series,
      reinterpret(quantity, 'Int64') AS micros,
      intDiv(toUInt32(starts_at), ${slotSeconds}) + (seconds >= 86400) * 48 - ${slots.startsAt / slotSeconds} AS slot,
      classes[slot + ${slotsAhead + 1}] AS class
    FROM ${source}
    WHERE local_day BETWEEN toDate(${day(0)}) AND toDate(${day(slots.count)})`
}

/** The energy of some reads by class. */
function sumsOf({ classes }: Scan): string {
  return `sumResample(1, ${classes.count + 1}, 1)(micros, class) AS vector,
          toUInt32(countIf(micros < 0)) AS negative`
}

/** The same of reads of one length, with how many of them the period has. */
function countedSumsOf(scan: Scan): string {
  const { from, to } = scan.period
  return `${sumsOf(scan)}, toUInt32(countIf(slot >= ${from} AND slot < ${to})) AS present`
}

const columns =
  'meter_id, external_site_id, account_number, client_id, pass, seconds, vector, present, negative'

const owner = 'm.meter_id, m.external_site_id, m.account_number, m.client_id'

/** The meters that one tenancy has had alone and whose reads no scan has summed yet. */
function leftMeters({ members, vectors }: RunTables): string {
  return `SELECT meter_id FROM ${members}
    WHERE NOT is_odd AND meter_id NOT IN (SELECT meter_id FROM ${vectors})`
}

export function countLeft(tables: RunTables): Statement {
  return { sql: `SELECT count() AS meters FROM (${leftMeters(tables)})` }
}

/**
 * The one pass over the reads of meters that one tenancy has had alone. It takes those whose reads are
 * all of one series, the member's own or that of no account, and never looks at their text.
 */
export function scanWhole(scan: Scan): Statement {
  const { members, vectors } = scan.tables
  return {
    sql: `INSERT INTO ${vectors} (${columns})
      SELECT ${owner}, ${passes.whole}, seconds, vector, present, negative
      FROM (
        SELECT meter_id, any(seconds) AS seconds, min(series) AS least, max(series) AS most,
          ${countedSumsOf(scan)}
        FROM (${readsOf(scan)} AND meter_id IN (SELECT meter_id FROM ${members} WHERE NOT is_odd))
        GROUP BY meter_id
      ) AS u
      INNER JOIN (SELECT * FROM ${members} WHERE NOT is_odd) AS m ON m.meter_id = u.meter_id
      WHERE least = most AND least IN (
        ${seriesOf('m.account_number', 'm.external_site_id')}, ${seriesOf("''", 'm.external_site_id')})`,
    settings: inMemory,
  }
}

/**
 * The reads of meters that one tenancy has had alone and that are of several series. An account that
 * is known elsewhere, or another premise, is not the member's (decision 11).
 */
export function scanLeft(scan: Scan): Statement {
  const { members, vectors } = scan.tables
  return {
    sql: `INSERT INTO ${vectors} (${columns})
      SELECT ${owner}, ${passes.whole}, seconds, sumForEach(vector), sum(present), sum(negative)
      FROM (
        SELECT meter_id, external_site_id, account_number, seconds,
          ${countedSumsOf(scan)}
        FROM (${readsOf(scan)} AND meter_id IN (${leftMeters(scan.tables)}))
        GROUP BY meter_id, external_site_id, account_number, seconds
      ) AS u
      INNER JOIN (SELECT * FROM ${members} WHERE NOT is_odd) AS m ON m.meter_id = u.meter_id
      WHERE NOT (u.external_site_id != m.external_site_id) AND (u.account_number = m.account_number
        OR u.account_number NOT IN (SELECT account_number FROM tenancy WHERE account_number != ''))
      GROUP BY ${owner}, seconds`,
    settings: inMemory,
  }
}

const inMemory = { max_bytes_before_external_group_by: 0 }

/** The meters whose reads are picked one by one: several tenancies, or series of several lengths. */
function oddMeters({ members, vectors }: RunTables): string {
  return `SELECT meter_id FROM ${members} WHERE is_odd
    UNION DISTINCT SELECT meter_id FROM ${vectors} WHERE pass = ${passes.whole}
      GROUP BY meter_id HAVING uniqExact(seconds) > 1`
}

export function countOdd(tables: RunTables): Statement {
  return { sql: `SELECT count() AS meters FROM (${oddMeters(tables)})` }
}

/**
 * The reads of odd meters: each goes to who held the meter when it begins, and of several series the
 * finest of each day counts. The days of a member are told by the slots at which period days begin.
 */
export function scanOdd(scan: Scan): Statement {
  const { members, vectors } = scan.tables
  const { slots } = scan
  const firstDay = slots.periodDay[0] as number
  const starts = [...dayStarts(slots), slots.count]
  const isPresent = `slot >= day_starts[m.first_day - ${firstDay} + 1] AND slot < day_starts[m.last_day - ${firstDay} + 2]`
  return {
    sql: `INSERT INTO ${vectors} (${columns})
      WITH [${starts.join(',')}] AS day_starts
      SELECT meter_id, external_site_id, account_number, client_id, ${passes.odd}, longest,
        vector, present, negative
      FROM (
        SELECT m.meter_id AS meter_id, m.external_site_id AS external_site_id,
          m.account_number AS account_number, m.client_id AS client_id, max(seconds) AS longest,
          intDiv(sumIf(seconds, ${isPresent}), longest) AS present, ${sumsOf(scan)}
        FROM (
          SELECT *, min(seconds) OVER (PARTITION BY meter_id, local_day) AS finest
          FROM (${readsOf(scan)} AND meter_id IN (${oddMeters(scan.tables)}))
        ) AS u
        INNER JOIN (SELECT * FROM ${members} WHERE meter_id IN (${oddMeters(scan.tables)})) AS m
          ON m.meter_id = u.meter_id
        WHERE u.seconds = u.finest AND NOT (u.external_site_id != m.external_site_id)
          AND (u.account_number = m.account_number OR (u.starts_at >= m.held_from AND u.starts_at < m.held_to
            AND u.account_number NOT IN (SELECT account_number FROM tenancy WHERE account_number != '')))
        GROUP BY ${owner}
      )`,
  }
}

/** The first slot of each period day. */
export function dayStarts(slots: Slots): readonly number[] {
  const starts: number[] = []
  for (let slot = 0; slot < slots.count; slot++) {
    if (slot === 0 || slots.periodDay[slot] !== slots.periodDay[slot - 1]) starts.push(slot)
  }
  return starts
}

/** The slots of some days, the second one exclusive. */
export function slotsOf(slots: Slots, days: { readonly from: number; readonly to: number }) {
  let [from, to] = [slots.count, 0]
  for (let slot = 0; slot < slots.count; slot++) {
    const day = slots.periodDay[slot] as number
    if (day < days.from || day > days.to) continue
    from = Math.min(from, slot)
    to = slot + 1
  }
  return { from, to }
}

import { microsOf, nanosOf } from '../../../schemas/rating/amount.js'
import type { DividedBill } from '../../../schemas/rating/divide.js'
import { literal, type Sql, sql, typed } from '../sql.js'
import { type DayRange, holdsWhere, type OwnHold, type RowSource } from './holds.js'

/** Whose bills are wanted, and the zone of their days. */
export interface BillsOf {
  readonly clientId: string
  readonly timeZone: string
  /** Of this meter only, which spares a look at the tenancies of all. */
  readonly meterId?: string
}

type TenanciesOf = Omit<BillsOf, 'timeZone'>

function ownTenancies({ clientId, meterId }: TenanciesOf): Sql {
  const ofMeter = meterId === undefined ? sql`` : sql`meter_id = ${meterId} AND `
  return sql`tenancy FINAL WHERE ${ofMeter}arrayExists(h -> has(h.5, ${clientId}), holds)`
}

/** The accounts of a client's bills, in whose order they are stored. */
export function ownAccounts(of: TenanciesOf): Sql {
  return sql`(SELECT account_number FROM ${ownTenancies(of)})`
}

/**
 * The current bills of a client, with the `holds` of their tenancies: rows of `projected_bill`, or of another
 * relation with its columns. A bill has the days that its tenancy had when it was computed. If a move became
 * known since, some of them are another tenant's: it is left out until it is computed again.
 */
export function ownBills(of: BillsOf, bills = sql`projected_bill`): Sql {
  const { clientId, timeZone } = of
  const day = (at: Sql) => sql`toDate(${at}, ${timeZone})`
  return sql`SELECT b.*, t.holds AS holds FROM ${bills} AS b
      INNER JOIN (SELECT meter_id, external_site_id, account_number, client_id, valid_from, valid_to, holds FROM ${ownTenancies(of)}) AS t
        ON t.meter_id = b.meter_id AND t.external_site_id = b.external_site_id
          AND t.account_number = b.account_number AND t.client_id = if(b.account_number = '', ${clientId}, '')
      WHERE b.account_number IN ${ownAccounts(of)} AND has(b.client_ids, ${clientId})
        AND (t.valid_from IS NULL OR ${day(sql`assumeNotNull(t.valid_from)`)} <= b.start_date)
        AND (t.valid_to IS NULL OR ${day(sql`assumeNotNull(t.valid_to) - 1`)} >= b.last_date)
        AND arrayAll(h -> empty(h.5) OR has(h.5, ${clientId}) OR ${day(sql`h.2`)} > b.last_date
          OR ${day(sql`h.3 - 1`)} < b.start_date, t.holds)`
}

export interface BillsWanted extends BillsOf {
  readonly meterId: string
  readonly days: DayRange
}

/** A bill of the meter with the prices of its plan. */
export interface OwnBill extends DividedBill {
  readonly run: string
  readonly account: string
  /** Its first local day. */
  readonly start: string
  readonly status: string
  readonly unit: string
  /** Units of the reads in one of the bill. */
  readonly perUnit: bigint
  /** Of each line its kind, component, name and tier. */
  readonly lines: readonly LineName[]
  /** The stretches whose reads it bills. */
  readonly holds: readonly OwnHold[]
}

export type LineName = readonly [kind: string, component: string, name: string, tier: number]

type Numbers = 'lineAmounts' | 'lowers' | 'uppers' | 'prices' | 'percents'
type Texts = Readonly<Record<Numbers, readonly string[]>>

/** A bill as the store sends it: numbers that a double does not hold are texts. */
interface BillRow extends Omit<OwnBill, Numbers | 'total' | 'used' | 'perUnit'>, Texts {
  readonly total: string | null
  readonly used: readonly (readonly string[])[]
  readonly perUnit: number
}

/**
 * The customer's own bills of a meter that touch the days. One that ends in standard time may have an hour of
 * the day after its last.
 */
export async function readMeterBills(
  source: RowSource,
  wanted: BillsWanted,
): Promise<readonly OwnBill[]> {
  const rows = await source.rows<BillRow>({ sql: billsSql(wanted) })
  return rows.map((row) => ({
    ...row,
    total: row.total === null ? undefined : microsOf(row.total),
    used: row.used.map((line) => line.map(BigInt)),
    perUnit: BigInt(row.perUnit),
    lineAmounts: row.lineAmounts.map(microsOf),
    lowers: row.lowers.map(BigInt),
    uppers: row.uppers.map(BigInt),
    prices: row.prices.map(nanosOf),
    percents: row.percents.map(nanosOf),
  }))
}

function billsSql({ days: { from, to }, ...of }: BillsWanted): Sql {
  const stored = sql`bill_row WHERE account_number IN ${ownAccounts(of)} AND meter_id = ${of.meterId}
    AND start_date <= ${typed('Date', to)} AND last_date + 1 >= ${typed('Date', from)}`
  const current = sql`(SELECT * FROM ${stored} AND run IN (SELECT run FROM bill_run_current))`
  const texts = (numbers: Sql) => sql`CAST(${numbers}, 'Array(String)')`
  const days = (dates: Sql) => sql`arrayMap(d -> toInt32(d), ${dates})`
  return sql`SELECT b.run AS run, b.account_number AS account, toString(b.start_date) AS start, toString(b.status) AS status, toString(b.unit) AS unit,
      if(b.read_unit = 'Wh' AND b.unit = 'kWh', 1000, 1) AS perUnit, toInt32(b.start_date) AS firstDay, toInt32(b.last_date) AS lastDay,
      toString(b.total) AS total, ${texts(sql`b.line_amounts`)} AS lineAmounts,
      CAST(b.used_by_day, 'Array(Array(String))') AS used, arrayMap(at -> toUnixTimestamp(at), p.day_starts) AS dayStarts,
      ${days(sql`arrayMap(at -> toDate(at, ${literal(of.timeZone)}), arrayPopBack(p.day_starts))`)} AS days, p.is_ahead AS isAhead,
      p.day_classes AS dayClasses, p.line_classes AS lineClasses, ${texts(sql`p.lowers`)} AS lowers, ${texts(sql`p.uppers`)} AS uppers,
      ${texts(sql`p.prices`)} AS prices, ${texts(sql`p.percents`)} AS percents, toUInt32(length(p.amounts)) AS constants,
      arrayMap(one -> one = 1, p.taxable) AS taxable, ${days(sql`p.from_dates`)} AS fromDays, ${days(sql`p.to_dates`)} AS toDays,
      arrayZip(p.kinds, p.components, p.names, p.tiers) AS lines,
      b.own_holds AS holds
    FROM (SELECT *, ${holdsWhere(sql`notEmpty(h.5)`)} AS own_holds FROM (${ownBills(of, current)})) AS b
    INNER JOIN (SELECT * FROM bill_plan FINAL WHERE (run, plan) IN (SELECT run, plan FROM ${stored})) AS p ON p.run = b.run AND p.plan = b.plan`
}

import { type BillsOf, ownAccounts, ownBills } from '../../pipeline/store/own/bills.js'
import { join, sql, typed } from '../../pipeline/store/sql.js'
import type { BillsQuery } from '../../schemas/gateway/reads.js'
import type { Zone } from '../../schemas/time/zone.js'
import { fromKeyCursor, toKeyCursor } from './cursor.js'
import { refuseDays } from './range.js'
import { badCursor, badQuery, type Reading } from './reading.js'
import type { ReadSource } from './source.js'

export interface BillsContext {
  readonly source: ReadSource
  readonly zone: Zone
  readonly daysMax: number
  readonly pageMax: number
}

/**
 * A page of the bills of a customer whose periods touch the days: what was computed or projected, and
 * what the utility billed.
 */
export async function readOwnBills(
  { source, zone, daysMax, pageMax }: BillsContext,
  clientId: string,
  { from, to, cursor }: BillsQuery,
): Promise<Reading> {
  const refusal = refuseDays({ from, to }, daysMax)
  if (refusal !== undefined) return badQuery(refusal)
  const behind = cursor === undefined ? first : fromKeyCursor(cursor, [from, to], first.length)
  if (behind === undefined) return badCursor
  const lines = await source.lines({
    sql: billsSql({ clientId, timeZone: zone.timeZone, from, to, behind, pageMax }),
  })
  const shown = lines.slice(0, pageMax)
  const last = lines.length > pageMax ? shown.at(-1) : undefined
  const next = last === undefined ? null : toKeyCursor(keyOf(JSON.parse(last)), [from, to])
  return { kind: 'found', body: `{"cursor":${JSON.stringify(next)},"bills":[${shown.join(',')}]}` }
}

/** The texts by which bills are ordered, of a bill and before all bills. */
const keyOf = (
  bill: Readonly<Record<'firstDay' | 'accountNumber' | 'externalSiteId' | 'meterId', string>>,
) => [bill.firstDay, bill.accountNumber, bill.externalSiteId, bill.meterId]
const first = ['', '', '', '']

interface PageWanted extends BillsOf {
  readonly from: string
  readonly to: string
  /** The key of the bill before the page. */
  readonly behind: readonly string[]
  readonly pageMax: number
}

function billsSql({ from, to, behind, pageMax, ...of }: PageWanted) {
  const key = sql`(toString(start_date), account_number, external_site_id, meter_id)`
  const last = join(
    behind.map((text) => sql`${text}`),
    sql`, `,
  )
  return sql`SELECT b.account_number AS accountNumber, b.external_site_id AS externalSiteId, b.meter_id AS meterId,
      b.commodity AS commodity, toString(b.start_date) AS firstDay, toString(b.last_date) AS lastDay,
      b.status AS status, b.reason AS reason, b.quantity AS quantity, b.unit AS unit,
      if(b.days_projected = 0, NULL, b.total) AS projected, if(b.days_projected = 0, b.total, NULL) AS computed,
      if(v.run = '', NULL, v.cost_billed) AS billed, if(v.run = '', NULL, v.quantity_billed) AS quantityBilled,
      if(v.run = '', NULL, v.cost_difference) AS variance, nullIf(v.cost_status, '') AS varianceStatus
    FROM
    (
      SELECT * FROM (${ownBills(of)})
      WHERE start_date <= ${typed('Date', to)} AND last_date >= ${typed('Date', from)}
        AND ${key} > (${last})
    ) AS b
    ANY LEFT JOIN (SELECT * FROM bill_variance WHERE account_number IN ${ownAccounts(of)}) AS v
      ON v.account_number = b.account_number AND v.meter_id = b.meter_id AND v.start_date = b.start_date
    ORDER BY b.start_date, b.account_number, b.external_site_id, b.meter_id LIMIT ${pageMax + 1}`
}

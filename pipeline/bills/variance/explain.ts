import { Fault } from '../../../schemas/fault.js'
import type { Store } from '../../store/clickhouse.js'
import { sql, typed } from '../../store/sql.js'

/** A computed bill as it is published, with its lines and what was billed. Decimals are texts. */
export interface Explanation {
  readonly account: string
  readonly meter: string
  readonly site: string
  readonly cycleId: string
  readonly first: string
  readonly last: string
  readonly days: number
  /** Those of them that are projected, and by what. */
  readonly projected: number
  readonly method: string
  readonly rateCodes: readonly string[]
  readonly status: string
  readonly reason: string
  readonly quantity: string
  readonly unit: string
  readonly total: string | null
  readonly expected: number
  readonly present: number
  readonly lines: readonly ExplainedLine[]
  /** Undefined where nothing was billed yet. */
  readonly billed?: Billed
}

export interface ExplainedLine {
  readonly kind: string
  readonly component: string
  readonly name: string
  readonly from: string
  readonly to: string
  readonly quantity: string | null
  readonly price: string | null
  readonly amount: string
}

/** What was billed, computed minus billed, and that difference by cause. */
export interface Billed {
  readonly first: string
  readonly last: string
  readonly quantity: string
  readonly quantityDifference: string
  readonly quantityStatus: string
  readonly quantityCauses: Readonly<Record<string, string>>
  readonly cost: string | null
  readonly costDifference: string | null
  readonly costStatus: string
  readonly costCauses: Readonly<Record<string, string>>
}

export interface BillWanted {
  readonly account: string
  /** First day of the period. */
  readonly start: string
}

type Found = Omit<Explanation, 'lines' | 'billed'>
type OfMeter<T> = T & { readonly meter: string }

/**
 * Reads the bills of an account that begin on a day, one for each meter. Throws `CONFIG` with the
 * days on which the account has bills where none does.
 */
export async function explain(store: Store, wanted: BillWanted): Promise<readonly Explanation[]> {
  const { account, start } = wanted
  const where = sql`WHERE account_number = ${account} AND start_date = ${typed('Date', start)}`
  const found = await store.rows<Found>({
    sql: sql`SELECT account_number AS account, meter_id AS meter, external_site_id AS site, billing_cycle_id AS cycleId,
        toString(start_date) AS first, toString(last_date) AS last, days, days_projected AS projected, method, rate_codes AS rateCodes, status, reason,
        toString(quantity) AS quantity, unit, toString(total) AS total, intervals_expected AS expected,
        intervals_present AS present
      FROM projected_bill ${where} ORDER BY meter`,
  })
  if (found.length === 0) throw await noBill(store, wanted)
  const lines = await store.rows<OfMeter<ExplainedLine>>({
    sql: sql`SELECT meter_id AS meter, kind, component, name, toString(from_date) AS from, toString(to_date) AS to,
        toString(quantity) AS quantity, toString(price) AS price, toString(amount) AS amount
      FROM projected_bill_line ${where} ORDER BY meter, line_number`,
  })
  const billed = await store.rows<OfMeter<Billed>>({
    sql: sql`SELECT meter_id AS meter, toString(billed_start_date) AS first, toString(billed_end_date) AS last,
        toString(quantity_billed) AS quantity, toString(quantity_difference) AS quantityDifference,
        quantity_status AS quantityStatus, mapApply((k, v) -> (k, toString(v)), quantity_causes) AS quantityCauses,
        toString(cost_billed) AS cost, toString(cost_difference) AS costDifference,
        cost_status AS costStatus, mapApply((k, v) -> (k, toString(v)), cost_causes) AS costCauses
      FROM bill_variance ${where}`,
  })
  return found.map((one) => {
    const own = billed.find(({ meter }) => meter === one.meter)
    return {
      ...one,
      lines: lines.filter(({ meter }) => meter === one.meter),
      ...(own !== undefined && { billed: own }),
    }
  })
}

async function noBill(store: Store, { account, start }: BillWanted): Promise<Fault> {
  const days = await store.rows<{ first: string }>({
    sql: sql`SELECT DISTINCT toString(start_date) AS first FROM projected_bill
      WHERE account_number = ${account} ORDER BY first DESC LIMIT 12`,
  })
  const [registered] = await store.rows({
    sql: sql`SELECT 1 FROM registration WHERE account_number = ${account} LIMIT 1`,
  })
  if (days.length === 0 && registered === undefined) {
    const remedy = 'use an account_number of the view registration'
    const detail = `account ${account} is not known: it is not registered and has no bill; ${remedy}`
    return new Fault('CONFIG', detail)
  }
  const known =
    days.length === 0
      ? 'it has none at all: run tieline bill --cycle'
      : `its bills begin on ${days.map(({ first }) => first).join(', ')}`
  return new Fault(
    'CONFIG',
    `account ${account} does not have a bill that begins on ${start}; ${known}`,
  )
}

import t from 'tap'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { sql } from '../../../pipeline/store/sql.js'

/** A rate with what it must come to. */
export interface Case {
  readonly rate: string
  /** Rows of rate files without their rate code. */
  readonly rows: Readonly<Record<string, readonly string[]>>
  readonly type: 'Flat' | 'Tiered' | 'TOU'
  /** First and last days. */
  readonly periods: readonly (readonly [string, string])[]
  /** Stamp and quantity of each read. */
  readonly reads: readonly (readonly [string, string])[]
  readonly rules?: object
  readonly check: (bills: readonly Found[]) => void
}

export interface Found {
  readonly start: string
  readonly total: number
  readonly status: string
  readonly lines: readonly {
    readonly name: string
    readonly quantity: number
    readonly amount: number
  }[]
}

/** Columns of the rate files. */
export const rateHeaders = {
  RateCodes: 'RateCode,Description,RateType',
  RateTou: 'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate,DayType,Component',
  RateTiers:
    'RateCode,Tier,DailyProrateFactor,Amount,RateStartDate,RateEndDate,PeriodLimit,Component',
  RateFlat: 'RateCode,Amount,RateStartDate,RateEndDate,Component',
  RateFixed: 'RateCode,Name,Kind,Basis,Amount,Taxable,RateStartDate,RateEndDate',
} as const

export const meterOf = ({ rate }: Pick<Case, 'rate'>) => `M${rate}`

export const dayMs = 86_400_000
export const stamp = (day: string, plus = 0) => {
  const at = new Date(Date.parse(day) + plus * dayMs)
  return `${at.getUTCMonth() + 1}/${at.getUTCDate()}/${at.getUTCFullYear()}`
}
const daysOf = ([first, last]: readonly [string, string]) =>
  (Date.parse(last) - Date.parse(first)) / dayMs + 1

/** A period's energy in equal days, the last one taking what is left. */
export function spread(period: readonly [string, string], total: number) {
  const days = daysOf(period)
  const each = Math.floor((total / days) * 1e6) / 1e6
  return Array.from({ length: days }, (_, at): readonly [string, string] => {
    const quantity = at === days - 1 ? total - each * (days - 1) : each
    return [stamp(period[0], at), quantity.toFixed(6)]
  })
}

export const near = (found: number | undefined, wanted: number, tolerance: number, what: string) =>
  t.ok(Math.abs((found ?? Number.NaN) - wanted) <= tolerance, `${what}: ${found}, wanted ${wanted}`)
/** Worked by hand: 31 days, 620 kWh, the first 310 at 10 cents, the others at 20; 8.50 and 4 % tax. */
export const own: Case = {
  rate: 'OWN',
  type: 'Tiered',
  rows: {
    RateTiers: ['1,10,0.1,2025-01-01,,,', '2,,0.2,2025-01-01,,,'],
    RateFixed: [
      'Service charge,Service,PerMonth,8.5,true,2025-01-01,',
      'Tax,TaxPercent,Percent,4,false,2025-01-01,',
    ],
  },
  periods: [['2026-01-01', '2026-01-31']],
  reads: spread(['2026-01-01', '2026-01-31'], 620),
  check: ([found]) => {
    t.same(
      found?.lines.map(({ amount }) => amount),
      [31, 62, 8.5, 4.06],
      'a bill worked by hand',
    )
    t.equal(found?.total, 105.56)
  },
}

/**
 * The bills of a meter with totals and lines that are sums of what its intervals cost. Quantities of lines
 * are those of days, as intervals have none. Rounding of the total is the rest and not a line.
 */
export function billsByInterval(
  store: Pick<Store, 'rows'>,
  meter: string,
): Promise<readonly (Found & { readonly reads: number })[]> {
  return store.rows({
    sql: sql`SELECT toString(i.start_date) AS start, total, status, reads,
        arrayMap((name, amount, at) -> CAST((name, toFloat64(quantities[toUInt32(at)]), toFloat64(amount)), 'Tuple(name String, quantity Float64, amount Float64)'),
          names, amounts, arrayEnumerate(amounts)) AS lines
      FROM
      (
        SELECT start_date, toFloat64(sum(cost)) AS total, any(status) AS status, toUInt32(countIf(quantity IS NOT NULL)) AS reads,
          arrayPopBack(any(line_names)) AS names, arrayPopBack(sumForEach(line_costs)) AS amounts
        FROM interval_cost WHERE meter_id = ${meter} GROUP BY start_date
      ) AS i
      INNER JOIN
      (
        SELECT start_date, sumMap(map(line_number, ifNull(quantity, 0))) AS quantities
        FROM day_cost_line WHERE meter_id = ${meter} GROUP BY start_date
      ) AS d ON d.start_date = i.start_date
      ORDER BY start`,
    settings: { output_format_json_named_tuples_as_objects: 1 },
  })
}

/** What a bill comes to, with its lines that are not 0. */
export const amountsOf = ({ start, total, status, lines }: Found) => ({
  ...{ start, total, status },
  lines: lines.filter(({ amount }) => amount !== 0).map(({ name, amount }) => `${name} ${amount}`),
})

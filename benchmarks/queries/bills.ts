import type { Statement } from '../../pipeline/store/clickhouse.js'

const cycles = 20
const runBefore = '20260000000000000'
const version = 'bitShiftLeft(toUInt64(1), 32) + row_number() OVER (ORDER BY number, month)'
const account = 'toString(910020000000 + number)'
const site = 'toString(5113000000 + number)'
const meter = 'toString(55000000 + number)'
/** The period of a customer's cycle that begins in a month; cycle n begins on day n. */
const first = `toDate(month + number % ${cycles})`
const last = `toDate(addMonths(month, 1) + number % ${cycles} - 1)`
/** Energy and dollars of a bill, which a month and a customer decide. */
const quantity = 'toDecimal64(800 + cityHash64(number, month) % 300, 6)'
const dollars = `${quantity} * toDecimal64(0.15, 6) + 8.5`
const run = (prefix: string) =>
  `concat(${prefix}, '_', leftPad(toString(number % ${cycles} + 1), 2, '0'), '_', toString(month))`

/**
 * Bills of every month from the utility and from a run of each cycle and period, in a plan of three lines.
 * One in ten differs, and the last month is projected. Of the month before there is an earlier projection,
 * and of cycle 5 an earlier run without the correction. Then a comparison of each meter under four rates.
 */
export function* yearBills(
  { customers, months }: { readonly customers: number; readonly months: number },
  seqBefore: number,
): Generator<Statement> {
  const of = (count: number, from = 1 - months) => `(
      SELECT n % ${count} AS number, addMonths(toDate('2026-10-01'), ${from} + intDiv(n, ${count})) AS month
      FROM (SELECT number AS n FROM numbers(${count * (1 - from)})))`
  yield {
    sql: `INSERT INTO schedule_version (arrival, feed, company_code, code, first_start)
      SELECT 1, arrayJoin(['BillingCycles', 'RateCodes', 'RateFlat']), 'BENCH',
        arrayJoin(arrayConcat(['', 'R0', 'R1', 'R2', 'R3'], arrayMap(cycle -> toString(cycle + 1), range(${cycles})))), '1970-01-01'`,
  }
  yield {
    sql: `INSERT INTO billing_cycle_row (billing_cycle_id, start_date, end_date, version)
      SELECT toString(number + 1), ${first}, ${last}, ${version} FROM ${of(cycles)}`,
  }
  yield {
    sql: `INSERT INTO rate_code_row (rate_code, description, rate_type, commodity, unit_of_measure, version)
      SELECT concat('R', toString(number)), 'bench', 'Flat', 'Electric', 'kWh', 4294967296 + number FROM numbers(4)`,
  }
  yield {
    sql: `INSERT INTO billing_period_row (account_number, external_site_id, meter_id, billing_start_date, billing_end_date,
        total_consumption, cost, version)
      SELECT ${account}, ${site}, ${meter}, ${first}, ${last}, ${quantity}, ${dollars} + if(number % 10 = 0, 20, 0), ${version}
      FROM ${of(customers)} WHERE month < '2026-10-01'`,
  }
  const batches = [
    {
      prefix: `'${runBefore}0'`,
      from: -1,
      status: 'projected',
      cost: `${dollars} - 1`,
      which: `month = '2026-09-01'`,
    },
    {
      prefix: `'${runBefore}1'`,
      from: -1,
      status: 'computed',
      cost: `${dollars} - 1`,
      which: `month = '2026-09-01' AND number % ${cycles} = 4`,
    },
    {
      prefix: `'${runBefore}2'`,
      from: 1 - months,
      status: 'computed',
      cost: dollars,
      which: `month < '2026-10-01'`,
    },
    { prefix: `'${runBefore}2'`, from: 0, status: 'projected', cost: dollars, which: 'true' },
  ]
  let seq = seqBefore
  // The corrections are the file that came last, one number before its publication.
  const corrected = seqBefore - 1
  for (const [at, { prefix, from, status, cost, which }] of batches.entries()) {
    const version = at === 1 ? 1 : corrected
    const rows = { of: (count: number) => of(count, from), customers }
    yield* runOf({ ...rows, prefix, status, cost, which, version })
    yield {
      sql: `INSERT INTO publication (published_seq, published_at, kind, run)
        SELECT ${seq} + row_number() OVER (ORDER BY ${run(prefix)}), now64(3), 'bills', ${run(prefix)}
        FROM ${of(cycles, from)} WHERE ${which}`,
    }
    seq += cycles * months
  }
  yield* variances(of(customers))
  yield* comparison(customers, seq + 1)
}

interface RunOptions {
  readonly of: (count: number) => string
  readonly prefix: string
  readonly status: string
  readonly cost: string
  readonly which: string
  readonly version: number
  readonly customers: number
}

function* runOf({
  of,
  prefix,
  status,
  cost,
  which,
  version,
  customers,
}: RunOptions): Generator<Statement> {
  const days = status === 'projected' ? 10 : 0
  const at = status === 'projected' ? `toDateTime(${last} - 10)` : `toDateTime(${last} + 2)`
  yield {
    sql: `INSERT INTO bill_run_row (run, billing_cycle_id, start_date, last_date, bills, total, usage_version, known_at, settings, computed_at)
      SELECT ${run(prefix)}, toString(number + 1), ${first}, ${last}, map('${status}', 1), 1000, ${version}, now64(3), '{}', ${at}
      FROM ${of(cycles)} WHERE ${which}`,
  }
  yield {
    sql: `INSERT INTO bill_plan (run, plan, rate_codes, start_date, last_date, commodity, unit, components, names, kinds, tiers,
        taxable, file_ids, from_dates, to_dates, prices, amounts)
      SELECT ${run(prefix)}, 1, ['R0'], ${first}, ${last}, 'Electric', 'kWh', ['Energy', 'Energy', ''], ['Peak', 'Off-Peak', 'Service'],
        ['Energy', 'Energy', 'Service'], [0, 0, 0], [1, 1, 1], ['1', '1', '1'], [${first}, ${first}, ${first}], [${last}, ${last}, ${last}],
        [0.2, 0.1], [8.5]
      FROM ${of(cycles)} WHERE ${which}`,
  }
  yield {
    sql: `INSERT INTO bill_row (run, plan, account_number, external_site_id, meter_id, client_ids, start_date, last_date, status,
        method, days_projected, seconds, intervals_expected, intervals_present, quantity, unit, quantities, line_amounts, total)
      SELECT ${run(prefix)}, 1, ${account}, ${site}, ${meter}, [toString(number)], ${first}, ${last},
        if(number % 100 = 1 AND month >= '2026-09-01' AND '${status}' = 'computed', 'incomplete', '${status}'), if(${days} > 0, 'recent', ''), ${days}, 3600, 720, 720,
        ${quantity}, 'kWh', [${quantity} / 2, ${quantity} / 2], [${quantity} / 10, ${quantity} / 20, 8.5], ${cost}
      FROM ${of(customers)} WHERE ${which}`,
  }
}

/** The bills of September held against those of the utility. */
function* variances(bills: string): Generator<Statement> {
  const own = `${run(`'${runBefore}2'`)}`
  const differs = 'number % 10 = 0'
  yield {
    sql: `INSERT INTO bill_variance_row (run, account_number, external_site_id, meter_id, start_date, last_date, billed_start_date,
        billed_end_date, document_numbers, unit, bill_status, quantity_billed, quantity_computed, quantity_status,
        cost_billed, cost_computed, cost_status, cost_causes)
      SELECT ${own}, ${account}, ${site}, ${meter}, ${first}, ${last}, ${first}, ${last}, [''], 'kWh', 'computed', ${quantity}, ${quantity},
        'match', ${dollars} + if(${differs}, 20, 0), ${dollars}, if(${differs}, 'differs', 'match'),
        if(${differs}, CAST(map('rateVersion', -15, 'taxAndFees', -5), 'Map(String, Decimal(18, 6))'), CAST(map(), 'Map(String, Decimal(18, 6))'))
      FROM ${bills} WHERE month = '2026-09-01'`,
  }
}

/** What the last 12 months of each meter would have cost under four rates. */
function* comparison(customers: number, seq: number): Generator<Statement> {
  const name = `'${runBefore}3'`
  yield {
    sql: `INSERT INTO rate_comparison_row (run, account_number, external_site_id, meter_id, client_ids, billing_cycle_id, rate_code,
        is_own, start_date, last_date, periods, periods_priced, status, quantity, unit, total)
      SELECT ${name}, ${account}, ${site}, ${meter}, [toString(number)], toString(number % ${cycles} + 1), concat('R', toString(r)),
        r = number % 4, '2025-10-01', '2026-09-30', 12, 12, 'compared', 10000, 'kWh', 1200 + cityHash64(number, r) % 300
      FROM numbers(${customers}) ARRAY JOIN range(4) AS r`,
  }
  yield {
    sql: `INSERT INTO comparison_run_row (run, cycles, last_dates, rate_codes, meters, comparisons, settings)
      SELECT ${name}, arrayMap(n -> toString(n + 1), range(${cycles})), arrayMap(n -> toDate('2026-09-30'), range(${cycles})),
        ['R0', 'R1', 'R2', 'R3'], ${customers}, map('compared', ${customers * 4}), '{}'`,
  }
  yield {
    sql: `INSERT INTO publication (published_seq, published_at, kind, run) VALUES (${seq}, now64(3), 'comparison', ${name})`,
  }
}

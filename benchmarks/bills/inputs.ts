import type { Statement, Store } from '../../pipeline/store/clickhouse.js'
import { untilMerged } from '../rig.js'

/** A period without a change of clocks, which began when the offset was five hours. */
export const period = { cycleId: '7', first: '2026-02-04', last: '2026-03-05', days: 30 } as const
/** Quarter hours of the period. */
export const rowsEach = 96 * period.days
const rateCodes = 40

/** Fills a store with what bills are made of, and waits until it is merged. */
export async function storeBillInputs(
  store: Store,
  customers: number,
  days: number = period.days,
): Promise<void> {
  for (const statement of billInputs(customers, days)) await store.command(statement)
  await untilMerged(store)
}

/**
 * Statements that fill a store with what bills are made of: reads day by day as daily files bring
 * them, registered customers, a cycle, and 40 rate codes: half time-of-use, a quarter each tiered
 * and flat. Arrival 1 represents all files. The meters are those of `numberedMeters`.
 */
function* billInputs(customers: number, days: number): Generator<Statement> {
  const of = (number: string) => ({
    account: `toString(910020000000 + ${number})`,
    site: `toString(5113000000 + ${number})`,
    meter: `toString(55000000 + ${number})`,
  })
  const { account, site, meter } = of('number')
  yield {
    sql: `INSERT INTO arrival (arrival, claim, name, arrived_at) SELECT 1, 'bench', 'bench', now64(3)`,
  }
  yield {
    sql: `INSERT INTO file_state (arrival, rank, status, feed, file_id, company_code, manifest, published_at, settled_at)
      SELECT 1, 60, 'published', 'Electric', 'bench', 'BENCH', '{}', now64(3), now64(3)`,
  }
  yield {
    sql: `INSERT INTO publication (published_seq, published_at, kind, arrival, file_id, change)
      VALUES (1, now64(3), 'file', 1, 'bench', 1), (2, now64(3), 'change', 0, '', 4294967296)`,
  }
  yield {
    sql: `INSERT INTO tenancy (meter_id, external_site_id, account_number, client_ids, meter_type, unit_of_measure,
        rate_code, billing_cycle_id, codes, holds, started_by, version, change)
      WITH concat('R', toString(number % ${rateCodes})) AS rate, [toString(number)] AS clients,
        toDateTime('1970-01-01', 'UTC') AS ever, toDateTime('2106-01-01', 'UTC') AS never
      SELECT ${meter}, ${site}, ${account}, clients, 'Electric', 'kWh', rate, '${period.cycleId}',
        [(ever, rate, '${period.cycleId}', 'kWh')], [(${account}, ever, never, clients, clients, 4294967296)],
        'first', 1, 4294967296
      FROM numbers(${customers})`,
  }
  for (let day = 0; day < days; day++) {
    yield {
      sql: `INSERT INTO usage_read (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
          account_number, external_site_id, version)
        WITH intDiv(number, 96) AS customer, number % 96 AS quarter
        SELECT ${of('customer').meter}, 'Electric',
          toDateTime('${period.first} 05:00:00', 'UTC') + ${day * 86_400} + quarter * 900, 900,
          toDate('${period.first}') + ${day}, intDiv(quarter, 4),
          toDecimal64((cityHash64(number, ${day}) % 1000) / 1000, 6),
          ${of('customer').account}, ${of('customer').site}, bitShiftLeft(toUInt64(1), 32) + number
        FROM numbers(${customers * 96})`,
    }
  }
  yield* schedules()
}

/** What was billed: as computed, but for one customer in ten, who was billed 3 dollars more. */
export const billedInputs: Statement = {
  sql: `INSERT INTO billing_period_row (account_number, external_site_id, meter_id, billing_start_date, billing_end_date,
      total_consumption, cost, version)
    SELECT account_number, external_site_id, meter_id, start_date, last_date, quantity,
      total + if(cityHash64(meter_id) % 10 = 0, 3, 0), 4294967296 + row_number() OVER (ORDER BY meter_id)
    FROM projected_bill`,
}

function* schedules(): Generator<Statement> {
  const feeds = ['BillingCycles', 'RateCodes', 'RateTou', 'RateTiers', 'RateFlat', 'RateFixed']
  const version = '4294967296 + number AS version'
  const code = (number: string) => `concat('R', toString(${number}))`
  yield {
    sql: `INSERT INTO schedule_version (arrival, feed, company_code, code, first_start)
      SELECT 1, arrayJoin(['${feeds.join(`','`)}']),
        'BENCH', arrayJoin(['', '${period.cycleId}', ${Array.from({ length: rateCodes }, (_, at) => `'R${at}'`)}]), '1970-01-01'`,
  }
  yield {
    sql: `INSERT INTO billing_cycle_row (billing_cycle_id, start_date, end_date, version)
      SELECT '${period.cycleId}', '${period.first}', '${period.last}', 4294967297`,
  }
  yield {
    sql: `INSERT INTO rate_code_row (rate_code, description, rate_type, commodity, unit_of_measure, version)
      SELECT ${code('number')}, 'bench', ['TOU', 'TOU', 'Tiered', 'Flat'][number % 4 + 1], 'Electric', 'kWh', ${version}
      FROM numbers(${rateCodes})`,
  }
  const window = `[('Off-Peak', 0.1, 0, 24), ('Mid', 0.15, 8 + rate % 4, 14), ('Peak', 0.25, 14, 19 + rate % 3)][number % 3 + 1]`
  yield {
    sql: `INSERT INTO rate_tou_row (rate_code, name, amount, start_hour, end_hour, rate_start_date, rate_end_date,
        day_type, component, version)
      WITH intDiv(number, 3) AS rate, ${window} AS row
      SELECT ${code('rate')}, row.1, row.2, if(row.1 = 'Off-Peak', '19', toString(row.3)), if(row.1 = 'Off-Peak', '8', toString(row.4)),
        '--01-01', '--12-31', if(row.1 = 'Off-Peak', 'WeekendHoliday', 'Weekday'), 'Energy', ${version}
      FROM numbers(${3 * rateCodes}) WHERE rate % 4 < 2`,
  }
  yield {
    sql: `INSERT INTO rate_tier_row (rate_code, tier, daily_prorate_factor, amount, rate_start_date, component, version)
      WITH intDiv(number, 3) AS rate, number % 3 + 1 AS own
      SELECT ${code('rate')}, own, if(own = 3, NULL, own * 10 + rate % 5), 0.1 * own, '2025-01-01', 'Energy', ${version}
      FROM numbers(${3 * rateCodes}) WHERE rate % 4 = 2`,
  }
  yield {
    sql: `INSERT INTO rate_flat_row (rate_code, amount, rate_start_date, component, version)
      SELECT ${code('number')}, if(number % 4 = 3, 0.12, 0.01), '2025-01-01', if(number % 4 = 3, 'Energy', 'Delivery'), ${version}
      FROM numbers(${rateCodes})`,
  }
  yield {
    sql: `INSERT INTO rate_fixed_row (rate_code, name, kind, basis, amount, taxable, rate_start_date, version)
      WITH [('Service charge', 'Service', 'PerMonth', 8.5), ('Fund', 'Program', 'PerUnit', 0.001), ('Tax', 'TaxPercent', 'Percent', 4)][number % 3 + 1] AS row
      SELECT ${code('intDiv(number, 3)')}, row.1, row.2, row.3, row.4, row.2 = 'Service', '2025-01-01', ${version}
      FROM numbers(${3 * rateCodes})`,
  }
}

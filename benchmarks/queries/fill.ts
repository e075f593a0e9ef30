import type { Statement } from '../../pipeline/store/clickhouse.js'
import { addDays, createZone } from '../../schemas/time/zone.js'
import { yearBills } from './bills.js'

/** The utility of the benchmark: customers with a meter each, and months that end with October 2026. */
export interface QuestionFilling {
  readonly customers: number
  readonly months: number
  /** Before this day a meter has one read a day. */
  readonly intervalsFrom?: string
}

const zone = createZone('America/Detroit')
const end = '2026-11-01'
/** When some meters have no reads any more, when customers move out, and when meters change their length. */
const [silent, moving, changing] = ['2026-09-01', '2026-10-01', '2026-10-16']
const [from, until] = ["toDateTime(0, 'UTC')", "toDateTime(4294967295, 'UTC')"]
const movedAt = `toDateTime('${moving} 00:00:00', 'America/Detroit')`

/** The first of the months. */
export function firstDayOf(months: number): string {
  return new Date(Date.UTC(2026, 10 - months, 1)).toISOString().slice(0, 10)
}

/** Every day; the file of a day is the arrival of its place, and its publication one more. */
export function benchDays({ months }: QuestionFilling): readonly string[] {
  const days: string[] = []
  for (let day = firstDayOf(months); day < end; day = addDays(day, 1)) days.push(day)
  return days
}

/**
 * Statements that fill a store inside the engine: hourly reads in a file for each day, tenancies of which
 * one in 20 ends, cycles, rates, bills of each month from both sides, and comparisons. One meter in 50
 * exports energy, one in 100 falls silent, one in 200 changes to quarter hours and one in 100 is corrected.
 */
export function* questionInputs(filling: QuestionFilling): Generator<Statement> {
  const days = benchDays(filling)
  yield* files(days)
  yield* tenancies(filling)
  for (const [at, day] of days.entries()) yield* readsOf(filling, day, at + 1)
  yield* corrections(filling, days.length + 1)
  yield* yearBills(filling, days.length + 2)
}

function* files(days: readonly string[]): Generator<Statement> {
  const count = days.length + 1
  const first = `toDate('${days[0]}')`
  yield {
    sql: `INSERT INTO arrival (arrival, claim, name, arrived_at)
      SELECT number + 1, toString(number), concat('BENCH_', toString(number + 1), '.csv'), now64(3) FROM numbers(${count})`,
  }
  yield {
    sql: `INSERT INTO file_state (arrival, rank, status, feed, file_id, file_name, company_code, manifest, file_date,
        last_interval_end, received_at, published_at, settled_at)
      SELECT number + 1, 60, 'published', 'Electric', toString(number + 1), concat('BENCH_', toString(number + 1), '.csv'), 'BENCH', '{}',
        ${first} + number, toDateTime(${first} + number + 1, 'America/Detroit'), now64(3), now64(3), now64(3)
      FROM numbers(${count})`,
  }
  yield {
    sql: `INSERT INTO publication (published_seq, published_at, kind, arrival, file_id, change)
      SELECT 1, now64(3), 'change', 0, '', 4294967296
      UNION ALL SELECT number + 2, now64(3), 'file', number + 1, toString(number + 1), number + 1 FROM numbers(${count})`,
  }
}

/** Columns of customer `number`, and of who moves in after it. */
const account = 'toString(910020000000 + number)'
const next = 'toString(920020000000 + number)'
const client = 'toString(number)'
const nextClient = "concat('2', toString(number))"
const site = 'toString(5113000000 + number)'
const meter = 'toString(55000000 + number)'
const rate = "concat('R', toString(number % 4))"
const cycle = 'toString(number % 20 + 1)'

function* tenancies({ customers, months }: QuestionFilling): Generator<Statement> {
  const holds = (by: readonly [string, string], start: string, stop: string) =>
    `[(${by[0]}, ${start}, ${stop}, [${by[1]}], [${by[1]}], toUInt64(4294967296))]`
  const owner = [account, client] as const
  const follower = [next, nextClient] as const
  const spans = [
    {
      who: 'number % 20 != 0',
      by: owner,
      first: firstDayOf(months),
      more: `NULL, NULL, '', 'first', '', '', ${holds(owner, from, until)}`,
    },
    {
      who: 'number % 20 = 0',
      by: owner,
      first: firstDayOf(months),
      more: `NULL, ${movedAt}, 'usage', 'first', ${next}, '', ${holds(owner, from, movedAt)}`,
    },
    {
      who: 'number % 20 = 0',
      by: follower,
      first: moving,
      more: `${movedAt}, NULL, '', 'usage', '', ${account}, ${holds(follower, movedAt, until)}`,
    },
  ] as const
  for (const { who, by, first, more } of spans) {
    const [held, holder] = by
    yield {
      sql: `INSERT INTO tenancy (meter_id, external_site_id, account_number, client_ids, meter_type, unit_of_measure, rate_code,
          billing_cycle_id, codes, change, known_at, version, valid_from, valid_to, ended_by, started_by, next_account_number,
          previous_account_number, holds)
        SELECT ${meter}, ${site}, ${held}, [${holder}], 'Electric', 'kWh', ${rate}, ${cycle},
          [(${from}, ${rate}, ${cycle}, 'kWh')], 4294967296, now64(3), 2, ${more}
        FROM numbers(${customers}) WHERE ${who}`,
    }
    yield {
      sql: `INSERT INTO registration_fact (meter_id, external_site_id, account_number, client_id, kind, at, meter_type,
          unit_of_measure, rate_code, billing_cycle_id, is_ami, acct_status)
        SELECT ${meter}, ${site}, ${held}, ${holder}, 'seen', now64(3), 'Electric', 'kWh', ${rate}, ${cycle}, true, 'A'
        FROM numbers(${customers}) WHERE ${who}`,
    }
    yield {
      sql: `INSERT INTO account_meter (meter_id, external_site_id, account_number, commodity, first_read, last_read, arrival, changes)
        SELECT ${meter}, ${site}, ${held}, 'Electric', toDateTime('${first} 05:00:00', 'UTC'), toDateTime('2026-10-31', 'UTC'), 1, 1
        FROM numbers(${customers}) WHERE ${who}`,
    }
  }
  yield {
    sql: `INSERT INTO usage_change_row (meter_id, local_day, last_local_day, client_ids_before, client_ids_after, cause, change)
      SELECT ${meter}, '${moving}', '2106-02-07', [${client}], [${nextClient}], 'ownership', 4294967296
      FROM numbers(${customers}) WHERE number % 20 = 0`,
  }
}

/** The file of a day: the hours of each meter, or their sum, with its account of the day. */
function* readsOf(
  { customers, intervalsFrom = '' }: QuestionFilling,
  day: string,
  arrival: number,
): Generator<Statement> {
  const isLate = day >= changing
  const kinds = [
    {
      seconds: day < intervalsFrom ? 86_400 : 3_600,
      which: `(number % 100 != 1 OR ${day < silent}) AND (number % 200 != 3 OR ${!isLate})`,
    },
    ...(isLate ? [{ seconds: 900, which: 'number % 200 = 3' }] : []),
  ]
  for (const { seconds, which } of kinds) {
    const slots = seconds === 86_400 ? 1 : zone.daySeconds(day) / seconds
    yield {
      sql: `INSERT INTO usage_read (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity, account_number,
          external_site_id, version)
        WITH intDiv(at, ${customers}) AS slot, at % ${customers} AS number,
          toDateTime('${day} 00:00:00', 'America/Detroit') + slot * ${seconds} AS start,
          toDecimal64((500 + cityHash64(at, ${arrival}) % 2000) / 1000 * ${seconds} / 3600, 6) AS used
        SELECT ${meter}, 'Electric', start, ${seconds}, '${day}', toHour(start),
          if(number % 50 = 2 AND toHour(start) BETWEEN 10 AND 15, -3 * used, used),
          if(number % 20 = 0 AND ${day >= moving}, ${next}, ${account}), ${site}, bitShiftLeft(toUInt64(${arrival}), 32) + at
        FROM (SELECT number AS at FROM numbers(${customers * slots})) WHERE ${which}`,
    }
  }
}

/** A file that corrected 15 September of one meter in 100, by a tenth of a unit each hour. */
function* corrections({ customers }: QuestionFilling, arrival: number): Generator<Statement> {
  const columns =
    'meter_id, commodity, starts_at, seconds, local_day, local_hour, account_number, external_site_id'
  const own = `toUInt32(substring(meter_id, 2)) % 100 = 4 AND local_day = '2026-09-15'`
  const version = `bitShiftLeft(toUInt64(${arrival}), 32) + row_number() OVER (ORDER BY meter_id, starts_at)`
  yield {
    sql: `INSERT INTO restatement (meter_id, commodity, starts_at, seconds, local_day, local_hour, old_account_number,
        old_external_site_id, old_quantity, new_quantity, old_version, new_version)
      SELECT ${columns}, quantity, quantity + toDecimal64(0.1, 6), version, ${version} FROM usage_read WHERE ${own} AND ${customers} > 0`,
  }
  yield {
    sql: `INSERT INTO usage_read (${columns}, quantity, version)
      SELECT ${columns}, quantity + toDecimal64(0.1, 6), ${version} FROM usage_read WHERE ${own}`,
  }
}

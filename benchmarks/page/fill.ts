import { Queue } from 'bullmq'
import { createProducerConnection } from '../../pipeline/queues/redis.js'
import type { Parameters } from '../../pipeline/store/clickhouse.js'
import type { Rig } from '../rig.js'

export interface Filling {
  readonly files: number
  readonly jobs: number
  readonly meters: number
}

export const daysOfReads = 14
const jobsAtOnce = 5_000
const zone = 'America/Detroit'

export async function fill(rig: Rig, filling: Filling): Promise<void> {
  await fillLedger(rig, filling)
  await fillReads(rig, filling)
  await fillBills(rig, filling)
  await fillQueue(rig, filling)
}

const command = ({ store }: Rig, sql: string, parameters: Parameters) =>
  store.command({ sql, parameters })

/** Files of a year, settled, each with eight chunks; the newest came in today. */
async function fillLedger(rig: Rig, { files }: Filling): Promise<void> {
  const one = (sql: string) => command(rig, sql, { files })
  await one(`INSERT INTO arrival (arrival, claim, source, name, path, bytes, arrived_at)
    SELECT number + 1, toString(number), 'inbox', concat('BENCH_', toString(number), '.csv'), '', 1000000,
      now64(3) - INTERVAL toUInt32(({files:UInt32} - number) * 31536000 / {files:UInt32}) SECOND
    FROM numbers({files:UInt32})`)
  await one(`INSERT INTO file_state (arrival, rank, status, source, file_name, company_code, feed,
      manifest, rows_read, rows_accepted, received_at, published_at, settled_at, last_interval_end)
    SELECT arrival, 55, if(arrival % 50 = 0, 'quarantined', 'published'), source, name, 'BENCH',
      if(arrival % 2 = 0, 'Electric', 'Gas'), repeat('x', 2000), 480000, 480000, arrived_at, arrived_at,
      arrived_at, arrived_at FROM arrival WHERE arrival <= {files:UInt32}`)
  await one(`INSERT INTO publication (published_seq, published_at, kind, arrival, change)
    SELECT arrival, arrived_at, 'file', arrival, arrival FROM arrival WHERE arrival <= {files:UInt32}`)
  await one(`INSERT INTO chunk_receipt (arrival, chunk, rows_read, rows_accepted, recorded_at)
    SELECT arrival, chunk, 60000, 60000, arrived_at
    FROM arrival ARRAY JOIN range(8) AS chunk WHERE arrival <= {files:UInt32}`)
}

/** Registered meters in 20 cycles, one in ten of them registered twice, and their quarter hours of two weeks. */
async function fillReads(rig: Rig, { files, meters }: Filling): Promise<void> {
  const commodity = (meter: string) => `if(${meter} % 3 = 0, 'Gas', 'Electric')`
  for (const version of [1, 2]) {
    const sql = `INSERT INTO tenancy (meter_id, external_site_id, account_number, client_ids, meter_type,
        rate_code, billing_cycle_id, codes, holds, started_by, version, change)
      WITH toString(910020000000 + number) AS account, toString(number % 20 + 1) AS cycle,
        toDateTime('1970-01-01', 'UTC') AS ever, toDateTime('2106-01-01', 'UTC') AS never
      SELECT toString(55000000 + number), toString(5113000000 + number), account,
        [toString(number)], ${commodity('number')}, 'R', cycle, [(ever, 'R', cycle, 'kWh')],
        [(account, ever, never, [toString(number)], [toString(number)], 4294967296)], 'first',
        {version:UInt8}, 4294967296
      FROM numbers({meters:UInt32}) WHERE {version:UInt8} = 1 OR number % 10 = 0`
    await command(rig, sql, { meters, version })
  }
  for (let before = 0; before < daysOfReads; before++) {
    const sql = `INSERT INTO usage_read (meter_id, commodity, starts_at, seconds, local_day, local_hour,
        quantity, account_number, external_site_id, version)
      WITH intDiv(number, 96) AS meter, number % 96 AS quarter, toDate(now('${zone}')) - {before:UInt8} AS day
      SELECT toString(55000000 + meter), ${commodity('meter')},
        toDateTime(day, '${zone}') + quarter * 900, 900, day, intDiv(quarter, 4),
        toDecimal64((cityHash64(number) % 1000) / 1000, 6), toString(910020000000 + meter),
        toString(5113000000 + meter), bitShiftLeft(toUInt64({arrival:UInt32}), 32) + number
      FROM numbers({rows:UInt32})`
    await command(rig, sql, { before, arrival: files - before, rows: meters * 96 })
  }
}

/**
 * Three years of the periods of 20 cycles, a run for each of the last twelve months, and bills held
 * against billed ones. They are another company's, so that the worker leaves them alone.
 */
async function fillBills(rig: Rig, { meters }: Filling): Promise<void> {
  const one = (sql: string) => command(rig, sql, { meters })
  const first = `toStartOfMonth(now()) - INTERVAL 24 MONTH + INTERVAL cycle DAY`
  await one(`INSERT INTO schedule_version (arrival, feed, company_code, code, first_start)
    SELECT 1, 'BillingCycles', 'ELSE', if(number = 0, '', toString(number)), '2020-01-01' FROM numbers(21)`)
  await one(`INSERT INTO billing_cycle_row (billing_cycle_id, start_date, end_date, version)
    WITH intDiv(number, 36) AS cycle, number % 36 AS month, ${first} AS first
    SELECT toString(cycle + 1), addMonths(first, month), addMonths(first, month + 1) - 1,
      bitShiftLeft(toUInt64(1), 32) + number
    FROM numbers(720)`)
  await one(`INSERT INTO bill_run_row (run, billing_cycle_id, start_date, last_date, bills, total, usage_version,
      known_at, settings)
    WITH number % 20 AS cycle, 13 + intDiv(number, 20) AS month, ${first} AS first
    SELECT toString(1000 + number), toString(cycle + 1), addMonths(first, month),
      addMonths(first, month + 1) - 1, map('computed', intDiv({meters:UInt32}, 20)), 0, 0, 0, '{}'
    FROM numbers(240)`)
  await one(`INSERT INTO publication (published_seq, published_at, kind, run)
    SELECT max(arrival) + number + 2, now64(3), 'bills', toString(1000 + number)
    FROM arrival CROSS JOIN numbers(240) AS n GROUP BY number`)
  await one(`INSERT INTO bill_variance_row (run, account_number, meter_id, cost_billed, cost_computed,
      cost_status, cost_causes)
    WITH intDiv({meters:UInt32}, 20) AS each, number % each AS meter
    SELECT toString(1000 + intDiv(number, each)), toString(910020000000 + meter), toString(55000000 + meter),
      100, 80 + (cityHash64(number) % 400) / 10, if(number % 10 = 0, 'differs', 'match'),
      map('rounding', 0.01, 'missingIntervals', 2)
    FROM numbers(intDiv({meters:UInt32}, 20) * 240)`)
}

/** Jobs that nobody takes: those of a queue that is paused. */
async function fillQueue({ stack, profile }: Rig, { jobs }: Filling): Promise<void> {
  const connection = createProducerConnection(stack.redisUrl)
  const queue = new Queue('register', { connection, prefix: profile.database })
  await queue.pause()
  for (let from = 0; from < jobs; from += jobsAtOnce) {
    const length = Math.min(jobsAtOnce, jobs - from)
    await queue.addBulk(Array.from({ length }, () => ({ name: 'register', data: { v: 1 } })))
  }
  await queue.close()
  connection.disconnect()
}

import { grouped } from '../../infra/commands/output/table.js'
import { compare } from '../../pipeline/bills/compare/compare.js'
import { sql, typed } from '../../pipeline/store/sql.js'
import { addDays, createZone } from '../../schemas/time/zone.js'
import { peakMb } from '../memory.js'
import { measureOnRig, type Rig, untilMerged } from '../rig.js'
import { verdict } from '../usage/figures.js'
import { period, storeBillInputs } from './inputs.js'

export interface RateComparison {
  readonly customers: number
  /** Length of an interval in seconds. */
  readonly interval: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes. */
export interface RateComparisonFigures {
  readonly customers: number
  readonly periods: number
  readonly rates: number
  readonly reads: number
  readonly seconds: number
  /** Of a sum of all reads by meter, before and after: the smaller one. */
  readonly scanSeconds: number
  readonly overScan: number
  readonly engineMb: number
}

const periods = 12
const minutesMax = 5
/** After the last period; its late reads have had their time. */
const now = () => new Date('2026-03-20T12:00:00Z')

/** Compares all rates for the last 12 periods of a cycle's meters, beside a bare sum of their reads. */
export function measureCompare(options: RateComparison): Promise<RateComparisonFigures> {
  return measureOnRig(options, {}, async (rig) => {
    const figures = await measure(rig, options)
    const minutes = figures.seconds / 60
    const text = `${minutes.toFixed(2)} minutes, ${figures.overScan.toFixed(1)} times the scan`
    options.print(verdict(text, minutes <= minutesMax, minutesMax))
    return figures
  })
}

async function measure(
  rig: Rig,
  { customers, interval, print }: RateComparison,
): Promise<RateComparisonFigures> {
  const { store, profile, stack } = rig
  print('estimate: 4 times a scan of the reads, and 5 us of a core for each price')
  await storeBillInputs(store, customers, 0)
  await storeYear(rig, customers, interval)
  const scans = [await scan(rig)]
  const zone = createZone(profile.timeZone)
  const { cycles, rateCodes, meters, comparisons, seconds } = await compare(
    { store, profile, zone, now },
    { cycleId: period.cycleId },
  )
  scans.push(await scan(rig))
  const counted = JSON.stringify(comparisons)
  print(`${grouped(meters)} meters, ${rateCodes} rates, ${counted}: ${seconds.toFixed(1)} s`)
  if (meters !== customers || cycles[0]?.periods !== periods) throw new Error('not all is compared')
  const scanSeconds = Math.min(...scans.map((one) => one.seconds))
  return {
    ...{ customers, periods, rates: rateCodes, reads: scans[0]?.reads ?? 0, seconds },
    ...{ scanSeconds, overScan: seconds / scanSeconds },
    engineMb: peakMb(stack.clickhouse?.pid()) ?? 0,
  }
}

/** Stores the reads of twelve periods and the periods before the last one. */
async function storeYear({ store, profile }: Rig, customers: number, interval: number) {
  const perDay = 86_400 / interval
  const { timeZone } = profile
  for (let back = periods - 1; back >= 0; back--) {
    const first = addDays(period.first, -back * period.days)
    const last = addDays(period.last, -back * period.days)
    if (back > 0) {
      await store.command({
        sql: sql`INSERT INTO billing_cycle_row (billing_cycle_id, start_date, end_date, version)
          SELECT ${period.cycleId}, ${first}, ${last}, ${typed('UInt64', 4_294_967_400 + back)}`,
      })
    }
    await store.command({
      sql: sql`INSERT INTO usage_read (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
          account_number, external_site_id, version)
        WITH intDiv(number, ${typed('UInt32', perDay * period.days)}) AS customer,
          toDateTime(${`${first} 00:00:00`}, ${timeZone})
            + (number % ${typed('UInt32', perDay * period.days)}) * ${typed('UInt32', interval)} AS at
        SELECT toString(55000000 + customer), 'Electric', at, ${typed('UInt32', interval)}, toDate(at, ${timeZone}),
          toHour(at, ${timeZone}), toDecimal64((cityHash64(number, ${typed('UInt8', back)}) % 1000) / 1000, 6),
          toString(910020000000 + customer), toString(5113000000 + customer),
          bitShiftLeft(toUInt64(1), 32) + number
        FROM numbers(${typed('UInt64', customers * perDay * period.days)})`,
      settings: { max_insert_threads: 2 },
    })
  }
  await untilMerged(store)
}

async function scan({ store }: Rig): Promise<{ readonly seconds: number; readonly reads: number }> {
  const from = performance.now()
  const [row] = await store.rows<{ reads: string }>({
    sql: sql`SELECT toString(sum(reads)) AS reads FROM (
      SELECT meter_id, count() AS reads, sum(quantity) FROM usage_read GROUP BY meter_id)`,
  })
  return { seconds: (performance.now() - from) / 1_000, reads: Number(row?.reads) }
}

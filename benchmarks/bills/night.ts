import { pino } from 'pino'
import { grouped } from '../../infra/commands/output/table.js'
import { bill } from '../../pipeline/bills/run.js'
import { billWhenDue, queueDue } from '../../pipeline/bills/when-due.js'
import type { JobData } from '../../pipeline/queues/jobs.js'
import { sql } from '../../pipeline/store/sql.js'
import { createZone } from '../../schemas/time/zone.js'
import { measureOnRig, type Rig } from '../rig.js'
import { median, verdict } from '../usage/figures.js'
import { period, storeBillInputs } from './inputs.js'

export interface NightOptions {
  readonly cycles: number
  /** Of each cycle. */
  readonly customers: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes. */
export interface NightFigures {
  readonly cycles: number
  readonly customers: number
  /** From the first look for what is due until nothing is. */
  readonly nightSeconds: number
  readonly runs: number
  /** Of one cycle alone, a median. */
  readonly aloneSeconds: number
}

const minutesMax = 15
const aloneRuns = 5
/** In the period, behind the hour of the day at which open periods are due. */
const now = () => new Date('2026-02-20T18:00:00Z')

/**
 * Projects small cycles in the night: those of the same days as one. The period ended long
 * ago for the worker of the rig, which leaves it alone.
 */
export function measureNight(options: NightOptions): Promise<NightFigures> {
  return measureOnRig(options, { billing: { daysBackMax: 30 } }, async (rig) => {
    const figures = await measure(rig, options)
    const minutes = figures.nightSeconds / 60
    options.print(verdict(`night ${minutes.toFixed(1)} minutes`, minutes <= minutesMax, minutesMax))
    return figures
  })
}

async function measure(
  rig: Rig,
  { cycles, customers, print }: NightOptions,
): Promise<NightFigures> {
  print(`${grouped(cycles)} cycles of ${grouped(customers)} customers, reads of half a period`)
  const { store, profile } = rig
  await storeBillInputs(store, cycles * customers, period.days / 2)
  await divide(rig, cycles)
  const zone = createZone(profile.timeZone)
  const context = { store, profile, zone, now }
  const queued: JobData<'bill'>[] = []
  const add = async (_: string, data: object) => void queued.push(data as JobData<'bill'>)
  const queues = { add } as unknown as Parameters<typeof queueDue>[0]['queues']
  const line = { ...context, queues, log: pino({ level: 'warn' }) }
  let runs = 0
  const from = performance.now()
  await queueDue(line)
  while (queued.length > 0) {
    for (const one of queued.splice(0)) {
      await billWhenDue(line, one)
      runs++
    }
    await queueDue(line)
  }
  const nightSeconds = (performance.now() - from) / 1_000
  const alone: number[] = []
  for (let cycle = 0; cycle < Math.min(aloneRuns, cycles); cycle++) {
    const begun = performance.now()
    const { bills } = await bill(context, { cycleId: `N${cycle}`, start: period.first })
    if (bills.projected !== customers) throw new Error(JSON.stringify(bills))
    alone.push((performance.now() - begun) / 1_000)
  }
  const [found] = await store.rows<{ bills: string }>({
    sql: sql`SELECT toString(count()) AS bills FROM projected_bill WHERE status = 'projected'`,
  })
  if (Number(found?.bills) !== cycles * customers) throw new Error(JSON.stringify(found))
  const aloneSeconds = median(alone)
  const each = `one alone ${aloneSeconds.toFixed(2)} s, all by ${runs} jobs ${nightSeconds.toFixed(1)} s`
  print(each)
  return { cycles, customers, nightSeconds, runs, aloneSeconds }
}

/** Gives each customer one of many cycles with the same days. */
async function divide({ store }: Rig, cycles: number): Promise<void> {
  const cycle = (number: string) => `concat('N', toString(${number}))`
  const own = cycle(`toUInt64(meter_id) % ${cycles}`)
  for (const text of [
    `ALTER TABLE tenancy UPDATE billing_cycle_id = ${own},
      codes = arrayMap(c -> (c.1, c.2, ${own}, c.4), codes) WHERE true SETTINGS mutations_sync = 1`,
    `INSERT INTO schedule_version (arrival, feed, company_code, code, first_start)
      SELECT 1, 'BillingCycles', 'BENCH', ${cycle('number')}, '1970-01-01' FROM numbers(${cycles})`,
    `INSERT INTO billing_cycle_row (billing_cycle_id, start_date, end_date, version)
      SELECT ${cycle('number')}, '${period.first}', '${period.last}', 4294967300 + number FROM numbers(${cycles})`,
  ]) {
    await store.command({ sql: text })
  }
}

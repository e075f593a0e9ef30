import { bill } from '../../pipeline/bills/run.js'
import { createZone } from '../../schemas/time/zone.js'
import { measureOnRig, type Rig } from '../rig.js'
import { median, verdict } from '../usage/figures.js'
import type { BillsOptions } from './bills.js'
import { period, rowsEach, storeBillInputs } from './inputs.js'

/** What `--json` writes: medians in seconds. */
export interface CostsFigures {
  readonly customers: number
  readonly rows: number
  readonly billSeconds: number
  /** What each day cost, added up. */
  readonly daySeconds: number
  /** What each interval cost, added up. */
  readonly intervalSeconds: number
  readonly costsOverBills: number
}

const ratioMax = 1.3
/** The reads are read and grouped once more, and each is priced by itself and not in a sum. */
const ratioExpected = 1

/** Bills a cycle, then reads what each day and each interval of it cost, in turn. */
export async function measureCosts(options: BillsOptions): Promise<CostsFigures> {
  const { print } = options
  return measureOnRig(options, {}, async (rig) => {
    const figures = await measure(rig, options)
    const { costsOverBills } = figures
    const ratio = `costs over bills ${costsOverBills.toFixed(2)}`
    print(verdict(ratio, costsOverBills <= ratioMax, ratioMax))
    return figures
  })
}

async function measure(
  { store, profile }: Rig,
  { print, customers, rounds }: BillsOptions,
): Promise<CostsFigures> {
  print(`estimate: costs over bills ${ratioExpected}`)
  await storeBillInputs(store, customers)
  const zone = createZone(profile.timeZone)
  const context = { store, profile, zone, now: () => new Date() }
  const seconds = { bill: [] as number[], day: [] as number[], interval: [] as number[] }
  for (let round = 0; round <= rounds; round++) {
    const from = performance.now()
    const { total, bills } = await bill(context, { cycleId: period.cycleId, start: period.first })
    if (bills.computed !== customers) throw new Error(JSON.stringify(bills))
    const own = { bill: (performance.now() - from) / 1_000, day: 0, interval: 0 }
    for (const grain of ['day', 'interval'] as const) {
      own[grain] = await timeSum(store, grain, total)
    }
    const { bill: billed, day, interval } = own
    print(
      `  ${round === 0 ? 'warm-up' : `round ${round}`}: bills ${billed.toFixed(2)} s, days ${day.toFixed(2)} s, intervals ${interval.toFixed(2)} s`,
    )
    if (round === 0) continue
    seconds.bill.push(billed)
    seconds.day.push(day)
    seconds.interval.push(interval)
  }
  const billSeconds = median(seconds.bill)
  const intervalSeconds = median(seconds.interval)
  return {
    customers,
    rows: customers * rowsEach,
    ...{ billSeconds, daySeconds: median(seconds.day), intervalSeconds },
    costsOverBills: intervalSeconds / billSeconds,
  }
}

/** How long it takes to add up all costs of the period. They must come to the bills. */
async function timeSum(
  store: Rig['store'],
  grain: 'day' | 'interval',
  total: string,
): Promise<number> {
  const from = performance.now()
  const [found] = await store.rows<{ total: string }>({
    sql: `SELECT toString(sum(cost)) AS total FROM ${grain}_cost
      WHERE billing_cycle_id = {cycle:String} AND local_day BETWEEN {first:Date} AND {last:Date}`,
    parameters: { cycle: period.cycleId, first: period.first, last: period.last },
  })
  if (Number(found?.total) !== Number(total)) throw new Error(`${found?.total} is not ${total}`)
  return (performance.now() - from) / 1_000
}

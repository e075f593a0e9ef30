import { grouped } from '../../infra/commands/output/table.js'
import { bill } from '../../pipeline/bills/run.js'
import { createZone } from '../../schemas/time/zone.js'
import { peakMb, resetPeak } from '../memory.js'
import { measureOnRig, type Rig } from '../rig.js'
import { median, verdict } from '../usage/figures.js'
import { billedInputs, period, rowsEach, storeBillInputs } from './inputs.js'

export interface BillsOptions {
  readonly customers: number
  readonly rounds: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: medians in seconds, memory in MB (10^6 bytes). */
export interface BillsFigures {
  readonly customers: number
  readonly rows: number
  /** Quantity summed for each meter over the same rows, `FINAL`. */
  readonly scanSeconds: number
  readonly billSeconds: number
  /** Computed held against billed, of which one in ten is another. */
  readonly reconcileSeconds: number
  readonly billOverScan: number
  readonly rssEngineMb: number
}

const ratioMax = 4
const engineMbMax = 4_096
/** A class lookup and a sum by class beside the bare sum; pricing is some 10^8 multiplications. */
const ratioExpected = 2

/** Bills a cycle of customers with 30 days of quarter hours, and sums the same rows, in turn. */
export async function measureBills(options: BillsOptions): Promise<BillsFigures> {
  const { print } = options
  return measureOnRig(options, {}, async (rig) => {
    const figures = await measure(rig, options)
    const { billOverScan, billSeconds, reconcileSeconds, rssEngineMb } = figures
    const ratio = `bills over scan ${billOverScan.toFixed(2)}`
    print(verdict(ratio, billOverScan <= ratioMax, ratioMax))
    const more = `reconcile ${reconcileSeconds.toFixed(2)} s`
    print(verdict(more, reconcileSeconds <= billSeconds, billSeconds))
    const memory = `engine ${Math.round(rssEngineMb)} MB`
    print(verdict(memory, rssEngineMb <= engineMbMax, engineMbMax))
    return figures
  })
}

async function measure(rig: Rig, options: BillsOptions): Promise<BillsFigures> {
  const { print, customers, rounds } = options
  const rows = customers * rowsEach
  print(`${grouped(customers)} customers, ${grouped(rows)} rows, made inside the engine`)
  print(`estimate: bills over scan ${ratioExpected}`)
  await storeBillInputs(rig.store, customers)
  const zone = createZone(rig.profile.timeZone)
  const context = { store: rig.store, profile: rig.profile, zone, now: () => new Date() }
  const seconds = { scan: [] as number[], bill: [] as number[], reconcile: [] as number[] }
  let rssEngineMb = 0
  for (let round = 0; round <= rounds; round++) {
    const scan = await time(() => rig.store.command({ sql: bareScan }))
    resetPeak(rig.stack.clickhouse?.pid())
    let reconciled = 0
    const all = await time(async () => {
      const summary = await bill(context, { cycleId: period.cycleId, start: period.first })
      if (summary.bills.computed !== customers) throw new Error(JSON.stringify(summary))
      reconciled = summary.seconds.reconcile
      print(`    ${spell(summary.seconds)}`)
    })
    const billed = all - reconciled
    rssEngineMb = Math.max(rssEngineMb, peakMb(rig.stack.clickhouse?.pid()) ?? 0)
    print(
      `  ${round === 0 ? 'warm-up' : `round ${round}`}: scan ${scan.toFixed(2)} s, bills ${billed.toFixed(2)} s, reconcile ${reconciled.toFixed(2)} s`,
    )
    if (round === 0) {
      await rig.store.command(billedInputs)
      continue
    }
    seconds.scan.push(scan)
    seconds.bill.push(billed)
    seconds.reconcile.push(reconciled)
  }
  const [scanSeconds, billSeconds] = [median(seconds.scan), median(seconds.bill)]
  const reconcileSeconds = median(seconds.reconcile)
  const billOverScan = billSeconds / scanSeconds
  const measured = { scanSeconds, billSeconds, reconcileSeconds, billOverScan, rssEngineMb }
  return { customers, rows, ...measured }
}

const bareScan = `INSERT INTO FUNCTION null('meter_id String, quantity Decimal(38, 6)')
  SELECT meter_id, sum(quantity) FROM usage_read FINAL
  WHERE local_day BETWEEN '${period.first}' AND '${period.last}' GROUP BY meter_id`

function spell(seconds: Readonly<Record<string, number>>): string {
  return Object.entries(seconds)
    .map(([step, one]) => `${step} ${one.toFixed(2)} s`)
    .join(', ')
}

async function time(run: () => Promise<unknown>): Promise<number> {
  const from = performance.now()
  await run()
  return (performance.now() - from) / 1_000
}

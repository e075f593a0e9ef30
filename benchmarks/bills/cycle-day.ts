import { existsSync, linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { grouped } from '../../infra/commands/output/table.js'
import { numberedMeters } from '../../infra/demo/customers.js'
import { usageFile } from '../../infra/demo/usage-file.js'
import { bill } from '../../pipeline/bills/run.js'
import { receiptSchema } from '../../schemas/receipt.js'
import { createZone } from '../../schemas/time/zone.js'
import { peakMb, resetPeak } from '../memory.js'
import { measureOnRig, type Rig } from '../rig.js'
import { verdict } from '../usage/figures.js'
import { billingFiles, type FeedFile } from './billing-files.js'
import { period, storeBillInputs } from './inputs.js'

export interface CycleDayOptions {
  readonly customers: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: seconds from the moment at which all files lie in the inbox, memory in MB. */
export interface CycleDayFigures {
  readonly customers: number
  /** Rows of the files of the day. */
  readonly rows: number
  /** Until the receipt of each file lies in the outbox. */
  readonly fileSeconds: Readonly<Record<string, number>>
  /** The bills of the cycle, from what its reads and rates are to their publication. */
  readonly billSeconds: number
  /** Every computed bill held against what was billed. */
  readonly reconcileSeconds: number
  readonly seconds: number
  readonly rssNodeMb: number
  readonly rssEngineMb: number
}

const secondsMax = 30
/** The usage file at 1.5 million rows a second, the rest at 300,000, and some 80 us for each bill. */
const estimate = (usageRows: number, billingRows: number, customers: number) =>
  usageRows / 1.5e6 + billingRows / 3e5 + customers * 8e-5
const pollMs = 50

/**
 * A whole day of a cycle, once: the day's usage file, bills, their lines and invoices come into the
 * inbox together, then the bills of the cycle are computed and held against what was billed. The 29
 * days before, customers and rates are there already.
 */
export async function measureCycleDay(options: CycleDayOptions): Promise<CycleDayFigures> {
  const { print } = options
  const sources = [{ kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 1 }]
  return measureOnRig(options, { sources }, async (rig) => {
    const figures = await measure(rig, options)
    const whole = `the whole day ${figures.seconds.toFixed(1)} s`
    print(verdict(whole, figures.seconds <= secondsMax, secondsMax))
    print(`Node ${Math.round(figures.rssNodeMb)} MB, engine ${Math.round(figures.rssEngineMb)} MB`)
    return figures
  })
}

async function measure(rig: Rig, { print, customers }: CycleDayOptions): Promise<CycleDayFigures> {
  const files = await writeDay(rig, customers)
  const rows = files.reduce((sum, file) => sum + file.rows, 0)
  const usageRows = files[0]?.rows ?? 0
  print(`${grouped(customers)} customers, ${grouped(rows)} rows in ${files.length} files`)
  print(`estimate: ${estimate(usageRows, rows - usageRows, customers).toFixed(0)} s`)
  await storeBillInputs(rig.store, customers, period.days - 1)
  const pids = [process.pid, rig.stack.worker.pid()]
  for (const pid of [...pids, rig.stack.clickhouse?.pid()]) resetPeak(pid)
  const from = performance.now()
  const since = () => (performance.now() - from) / 1_000
  for (const { path } of files) {
    linkSync(path, join(rig.home.inbox, basename(path)))
    writeFileSync(join(rig.home.inbox, `${basename(path)}.done`), '')
  }
  const failing = new AbortController()
  const receipts = await Promise.all(
    files.map(async (file) => {
      await untilPublished(rig, file, failing.signal)
      print(`  ${basename(file.path).padEnd(30)} ${since().toFixed(1)} s`)
      return [basename(file.path), since()] as const
    }),
  ).finally(() => failing.abort())
  const zone = createZone(rig.profile.timeZone)
  const context = { store: rig.store, profile: rig.profile, zone, now: () => new Date() }
  const asked = { cycleId: period.cycleId, start: period.first }
  const { bills, variance, seconds: steps } = await bill(context, asked)
  const seconds = since()
  if (bills.computed !== customers) throw new Error(`not all were billed: ${JSON.stringify(bills)}`)
  if (variance === undefined) throw new Error('nothing was held against what was billed')
  const billSeconds = Object.values(steps).reduce((sum, one) => sum + one, 0) - steps.reconcile
  print(`  bills ${billSeconds.toFixed(1)} s, reconciliation ${steps.reconcile.toFixed(1)} s`)
  return {
    customers,
    rows,
    fileSeconds: Object.fromEntries(receipts),
    billSeconds,
    reconcileSeconds: steps.reconcile,
    seconds,
    rssNodeMb: Math.max(...pids.map((pid) => peakMb(pid) ?? 0)),
    rssEngineMb: peakMb(rig.stack.clickhouse?.pid()) ?? 0,
  }
}

async function writeDay(rig: Rig, customers: number): Promise<readonly FeedFile[]> {
  const folder = join(rig.files, 'day')
  mkdirSync(folder)
  const path = join(folder, 'BENCH_06032026_Electric.csv')
  const { rows } = await usageFile(path, {
    meters: numberedMeters(customers),
    seed: 20_260_306,
    firstDay: period.last,
    days: 1,
    intervalSeconds: 900,
    zone: 'America/Detroit',
  })
  return [{ path, rows }, ...(await billingFiles(folder, customers))]
}

async function untilPublished(
  { home }: Rig,
  { path, rows }: FeedFile,
  signal: AbortSignal,
): Promise<void> {
  const receiptPath = join(home.outbox, `${basename(path)}.receipt.json`)
  while (!existsSync(receiptPath)) await sleep(pollMs, undefined, { signal })
  const receipt = receiptSchema.parse(JSON.parse(readFileSync(receiptPath, 'utf8')))
  if (receipt.status === 'published' && receipt.rows.accepted === rows) return
  throw new Error(`not all of ${rows} rows were published: ${JSON.stringify(receipt)}`)
}

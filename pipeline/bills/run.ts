import { randomBytes } from 'node:crypto'
import { toDays } from '../../schemas/lint/finding.js'
import type { Profile } from '../../schemas/profile.js'
import type { Classes } from '../../schemas/rating/classes.js'
import type { BillStatus } from '../../schemas/rating/kind.js'
import type { PlanContext } from '../../schemas/rating/plan.js'
import { createSlots } from '../../schemas/rating/slots.js'
import type { Zone } from '../../schemas/zone.js'
import type { Statement, Store } from '../stores/clickhouse.js'
import { readRates } from '../stores/rates.js'
import {
  type Compilation,
  classesOf,
  compilePlans,
  labelVariants,
  passes,
  toMaskRows,
  toPlanRow,
} from './compile.js'
import { gatherMembers, type RunTables, readPlans, tablesOf } from './members.js'
import { findPeriod, type Period } from './period.js'
import { createMasks, type Pricing, priceBills } from './price.js'
import { reconcile, type VarianceSummary } from './reconcile.js'
import {
  countLeft,
  countOdd,
  createVectors,
  dayStarts,
  scanLeft,
  scanOdd,
  scanWhole,
  slotsOf,
} from './scan.js'
import { gatherBilled } from './variance.js'

/** What bills are computed with; a `Line` is one. */
export interface BillContext {
  readonly store: Store
  readonly profile: Profile
  readonly zone: Zone
  readonly now: () => Date
}

export interface BillRequest {
  readonly cycleId: string
  /** First day of the period; without one the latest that has ended. */
  readonly start?: string
  /** Reads are taken as they were known then. */
  readonly asOf?: Date
}

const runSteps = ['compile', 'scan', 'price', 'reconcile', 'publish'] as const

export interface BillSummary {
  readonly run: string
  readonly cycleId: string
  readonly first: string
  readonly last: string
  readonly bills: Readonly<Partial<Record<BillStatus, number>>>
  /** Sum of the bills, dollars. */
  readonly total: string
  /** Why bills could not be computed or are incomplete, and how many; the most frequent first. */
  readonly reasons: readonly { status: BillStatus; reason: string; bills: number }[]
  /** Computed held against billed; undefined where nothing of the period was billed yet. */
  readonly variance?: VarianceSummary
  readonly seconds: Readonly<Record<(typeof runSteps)[number], number>>
}

/**
 * Computes the bills of a cycle's period, of all its customers at once, and publishes them at once:
 * the row of the run is written last, and until then readers see the bills of the run before. Nothing
 * of the clock is in a bill, so that a run on the same inputs gives the same bills.
 */
export async function bill(context: BillContext, request: BillRequest): Promise<BillSummary> {
  const { store, profile } = context
  const period = await findPeriod(store, profile.companyCodes, {
    cycleId: request.cycleId,
    today: localDay(context),
    ...(request.start !== undefined && { start: request.start }),
  })
  await dropLeft(store)
  const run = nameRun(context.now())
  const tables = tablesOf(run)
  try {
    return await compute(context, { request, period, run, tables })
  } finally {
    await drop(store, Object.values(tables))
  }
}

export async function drop(store: Store, tables: readonly string[]): Promise<void> {
  for (const table of tables) await store.command({ sql: `DROP TABLE IF EXISTS ${table} SYNC` })
}

/** No run lasts a day: what is that old was left by one that crashed. */
export async function dropLeft(store: Store): Promise<void> {
  const left = await store.rows<{ name: string }>({
    sql: `SELECT name FROM system.tables
      WHERE database = currentDatabase() AND match(name, '^bill_(member|vector|mask|billed|variant|step|compared)_[0-9]')
        AND metadata_modification_time < now() - INTERVAL 1 DAY`,
  })
  await drop(
    store,
    left.map(({ name }) => name),
  )
}

export interface Run {
  readonly request: BillRequest
  readonly period: Period
  readonly run: string
  readonly tables: RunTables
}

async function compute(context: BillContext, run: Run): Promise<BillSummary> {
  const { store, profile } = context
  const { tables, period } = run
  const clock = createClock()
  const inputs = { usageVersion: await newestArrival(store), rates: await ratesOf(context) }
  await gatherMembers(store, tables, { period, profile })
  const seconds = { compile: clock(), scan: 0, price: 0, reconcile: 0, publish: 0 }
  await store.command(gatherBilled(tables))
  const [billed] = await store.rows<{ n: string }>({
    sql: `SELECT toString(count()) AS n FROM ${tables.billed}`,
  })
  const isBilled = billed?.n !== '0'
  seconds.reconcile = clock()
  const { plans, compilation } = await compile(context, run, { ...inputs.rates, isBilled })
  seconds.compile += clock()
  const classes = await scan(context, run, compilation)
  seconds.scan = clock()
  const pricing: Pricing = {
    run: run.run,
    tables,
    rules: profile.billing,
    dayStarts: [...dayStarts(compilation.slots), compilation.slots.count],
    firstDay: compilation.slots.periodDay[0] as number,
  }
  await store.command(priceBills(pricing))
  seconds.price = clock()
  const reconciliation = { store, pricing, compilation, context: plans, classes }
  const variance = isBilled ? { variance: await reconcile(reconciliation) } : {}
  seconds.reconcile += clock()
  const told = await publish(context, run, inputs)
  seconds.publish = clock()
  const { cycleId, first, last } = period
  return { run: run.run, cycleId, first, last, ...told, ...variance, seconds }
}

type Rates = Awaited<ReturnType<typeof readRates>>

function ratesOf({ store, profile }: BillContext): Promise<Rates> {
  return readRates(store, profile.companyCodes)
}

/** The plans of all members, written down with the run, and what they were made from. */
async function compile(
  context: BillContext,
  run: Run,
  { book, isBilled }: Rates & { readonly isBilled: boolean },
): Promise<{ readonly plans: PlanContext; readonly compilation: Compilation }> {
  const { store, profile, zone } = context
  const days = { from: toDays(run.period.first) - 1, to: toDays(run.period.last) + 1 }
  const slots = createSlots(zone, days, profile.billing.periodClock)
  const plans = { book, slots, rules: profile.billing }
  const compilation = compilePlans(plans, await readPlans(store, run.tables, run.period))
  await store.insert(
    'bill_plan',
    compilation.plans.map((plan) => toPlanRow(run.run, plan)),
  )
  return { plans, compilation: isBilled ? labelVariants(compilation, plans) : compilation }
}

/** Brings the reads of all members into vectors: nearly all in one pass, then the few that it leaves. */
export async function scan(
  context: BillContext,
  run: Run,
  compilation: Compilation,
): Promise<ReadonlyMap<number, Classes>> {
  const { store } = context
  const { tables, period, request } = run
  const { slots } = compilation
  const days = { from: toDays(period.first), to: toDays(period.last) }
  const classesByPass = new Map<number, Classes>()
  const scanOf = async (pass: number) => {
    const classes = classesOf(compilation, pass)
    classesByPass.set(pass, classes)
    await store.insert(tables.masks, toMaskRows(compilation, pass, classes))
    const asOf = request.asOf === undefined ? {} : { asOf: clickHouseTime(request.asOf) }
    return { tables, slots, classes, period: slotsOf(slots, days), ...asOf }
  }
  await store.command(createVectors(tables))
  await store.command(createMasks(tables))
  const whole = await scanOf(passes.whole)
  await store.command(scanWhole(whole))
  if (await hasMeters(store, countLeft(tables))) await store.command(scanLeft(whole))
  if (await hasMeters(store, countOdd(tables)))
    await store.command(scanOdd(await scanOf(passes.odd)))
  return classesByPass
}

async function hasMeters(store: Store, count: Statement): Promise<boolean> {
  const [found] = await store.rows<{ meters: string }>(count)
  return found?.meters !== '0'
}

async function publish(
  { store, profile, now }: BillContext,
  { run, period, request }: Run,
  inputs: { readonly usageVersion: number; readonly rates: Rates },
): Promise<Pick<BillSummary, 'bills' | 'total' | 'reasons'>> {
  const found = await store.rows<{ status: BillStatus; reason: string; n: string; sum: string }>({
    sql: `SELECT toString(status) AS status, if(status = 'incomplete', '', reason) AS reason,
        toString(count()) AS n, toString(sum(ifNull(total, toDecimal64(0, 6)))) AS sum
      FROM bill_row WHERE run = {run:String}
      GROUP BY status, reason ORDER BY count() DESC, status, reason`,
    parameters: { run },
  })
  const bills: Partial<Record<BillStatus, number>> = {}
  for (const { status, n } of found) bills[status] = (bills[status] ?? 0) + Number(n)
  const [sums] = await store.rows<{ total: string }>({
    sql: `SELECT toString(sum(ifNull(total, toDecimal64(0, 6)))) AS total FROM bill_row
      WHERE run = {run:String}`,
    parameters: { run },
  })
  const total = sums?.total ?? '0'
  await store.insert('bill_run', [
    {
      run,
      billing_cycle_id: period.cycleId,
      start_date: period.first,
      last_date: period.last,
      as_of: request.asOf?.toISOString() ?? null,
      bills,
      total,
      usage_version: inputs.usageVersion,
      rate_file_ids: inputs.rates.fileIds,
      cycle_file_id: period.fileId,
      settings: JSON.stringify(profile.billing),
      published_at: now().toISOString(),
    },
  ])
  const reasons = found
    .filter(({ status }) => status !== 'billed')
    .map(({ status, reason, n }) => ({ status, reason, bills: Number(n) }))
  return { bills, total, reasons }
}

export async function newestArrival(store: Store): Promise<number> {
  const [found] = await store.rows<{ arrival: number }>({
    sql: `SELECT max(arrival) AS arrival FROM file_state WHERE status = 'published'`,
  })
  return found?.arrival ?? 0
}

/** Sorts by time: of two runs of one period the later one counts. */
export function nameRun(now: Date): string {
  return `${now.toISOString().replace(/\D/g, '')}_${randomBytes(4).toString('hex')}`
}

export function localDay({ zone, now }: BillContext): string {
  const { year, month, day } = zone.toWall(Math.floor(now().getTime() / 1_000))
  return new Date(Date.UTC(year, month - 1, day)).toISOString().slice(0, 10)
}

function clickHouseTime(at: Date): string {
  return at.toISOString().replace('T', ' ').replace('Z', '')
}

/** Seconds since it was last asked. */
function createClock(): () => number {
  let last = performance.now()
  return () => {
    const now = performance.now()
    const seconds = (now - last) / 1_000
    last = now
    return seconds
  }
}

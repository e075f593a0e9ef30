import { randomBytes } from 'node:crypto'
import { fromDays, toDays } from '../../schemas/lint/finding.js'
import { groupBy } from '../../schemas/lists/group-by.js'
import type { PlanContext } from '../../schemas/rating/plan.js'
import {
  createProjection,
  type Days,
  type Projection,
  pastDays,
} from '../../schemas/rating/projection.js'
import type { RateBook } from '../../schemas/rating/rate-book.js'
import { createSlots } from '../../schemas/rating/slots.js'
import { dayAt } from '../../schemas/time/zone.js'
import type { Store } from '../store/clickhouse.js'
import { toClickHouseTime } from '../store/columns.js'
import { id, sql } from '../store/sql.js'
import { dropTables } from '../store/staging.js'
import { readerOn } from '../whole.js'
import { type Compilation, compilePlans, labelCounterfactuals, toPlanRow } from './compile.js'
import type { BillContext, BillRequest, BillRuns, CycleRun } from './context.js'
import { toDayColumns } from './costs/spread.js'
import { gatherMembers, readPlans } from './members.js'
import { findPeriod, type Period } from './period.js'
import { type Pricing, priceBills } from './price.js'
import { daysAhead } from './project.js'
import { type BillCounts, type Inputs, newestFile, publishBills } from './publish.js'
import { readRates } from './rates.js'
import { newestDays } from './scan/reads.js'
import { beginRun, sumReads } from './scan/sum-reads.js'
import { tablesOf } from './tables.js'
import { gatherBilled } from './variance/billed.js'
import { reconcileBills, type VarianceSummary } from './variance/reconcile.js'

const runSteps = ['compile', 'scan', 'price', 'reconcile', 'publish'] as const

export interface BillSummary extends BillCounts {
  readonly run: string
  readonly cycleId: string
  readonly first: string
  readonly last: string
  /** Computed held against billed; undefined where nothing of the period was billed yet. */
  readonly variance?: VarianceSummary
  readonly seconds: Readonly<Record<(typeof runSteps)[number], number>>
}

/**
 * Computes the bills of a cycle's period, of all its customers at once, and publishes them at once.
 * Throws `CONFIG` where the schedule in force does not have the period.
 */
export async function bill(context: BillContext, request: BillRequest): Promise<BillSummary> {
  const { cycleId, start, asOf } = request
  const period = await findPeriod(context.store, context.profile.companyCodes, {
    cycleId,
    today: localDay(context),
    ...(start !== undefined && { start }),
  })
  const [summary] = await billTogether(context, [period], asOf && { asOf })
  return summary as BillSummary
}

/**
 * Computes the bills of periods with the same days, each of another cycle, and publishes them at once: the
 * rows of their runs are written last, and until then readers see the bills of the runs before. Nothing of
 * the clock is in a bill, nor what else is computed with it, so that a run on the same inputs gives the same bills.
 */
export async function billTogether(
  context: BillContext,
  periods: readonly Period[],
  request: BillRuns['request'] = {},
): Promise<readonly BillSummary[]> {
  const { store } = context
  await dropLeft(store)
  const names = await nameRuns(context, 'bill_run', periods.length)
  const runs = periods.map((period, at) => ({ ...period, run: names[at] as string }))
  const [{ run, first, last }] = runs as [Period & CycleRun]
  const tables = tablesOf(run)
  const done = await compute(context, { request, period: { first, last }, runs, tables }).finally(
    () => dropTables(store, Object.values(tables)),
  )
  if ('summaries' in done) return done.summaries
  const summaries: BillSummary[] = []
  for (const some of done.apart) {
    const own = some.map((one) => ({ ...one, first, last }))
    summaries.push(...(await billTogether(context, own, request)))
  }
  return summaries
}

/** No run lasts a day: what is that old was left by one that crashed. */
export async function dropLeft(store: Store): Promise<void> {
  const left = await store.rows<{ name: string }>({
    sql: sql`SELECT name FROM system.tables
      WHERE database = currentDatabase() AND match(name, '^bill_(cycle|member|vector|projected|last|mask|billed|variant|step|compared|forgotten)_[0-9]')
        AND metadata_modification_time < now() - INTERVAL 1 DAY`,
  })
  await dropTables(
    store,
    left.map(({ name }) => name),
  )
}

/** What was computed, or groups of cycles whose open periods cannot be computed with each other. */
type Computed =
  | { readonly summaries: readonly BillSummary[] }
  | { readonly apart: readonly (readonly CycleRun[])[] }

async function compute(context: BillContext, all: BillRuns): Promise<Computed> {
  const { store, profile } = context
  const { tables, period, runs } = all
  const clock = createClock()
  // Files that are published from here on may or may not be seen; they count as not seen.
  const newest = await newestFile(store)
  await beginRun(store, tables)
  const [rates] = await Promise.all([
    readRates(store, profile.companyCodes, readerOn(store, tables.masks)),
    gatherMembers(store, tables, { ...all, profile, ...toScanned(context, all) }),
  ])
  const inputs: Inputs = { ...newest, rates }
  const groups = await findAhead(context, all)
  if (groups.length > 1) return { apart: groups.map((one) => one.runs) }
  const ahead = groups[0]?.days
  const seconds = { compile: clock(), scan: 0, price: 0, reconcile: 0, publish: 0 }
  await store.command(gatherBilled(tables))
  const [billed] = await store.rows<{ n: string }>({
    sql: sql`SELECT toString(count()) AS n FROM ${id(tables.billed)}`,
  })
  const isBilled = billed?.n !== '0' && ahead === undefined
  seconds.reconcile = clock()
  const compiled = await compile(context, all, { ...rates, isBilled, ahead })
  const { plans, compilation, projection } = compiled
  seconds.compile += clock()
  const classes = await sumReads(context, all, { ...compiled, isSpread: true })
  seconds.scan = clock()
  const pricing: Pricing = {
    tables: projection === undefined ? tables : { ...tables, vectors: tables.projected },
    lastActual: ahead === undefined ? toDays(period.last) : ahead.from - 1,
    rules: profile.billing,
    slots: compilation.slots,
  }
  await store.command(priceBills(pricing))
  seconds.price = clock()
  const reconciliation = { store, pricing, compilation, context: plans, classes }
  const variance = isBilled ? { variance: await reconcileBills(reconciliation) } : {}
  seconds.reconcile += clock()
  const published = await publishBills(context, all, inputs)
  seconds.publish = clock()
  const summaries = published.map((counts, at) => {
    const { run, cycleId } = runs[at] as CycleRun
    return { run, cycleId, ...period, ...counts, ...variance, seconds }
  })
  return { summaries }
}

/** The local day on which a run knows what it knows. */
function knownDay({ zone, now }: BillContext, { request: { asOf } }: BillRuns): string {
  return localDay({ zone, now: () => asOf ?? now() })
}

/** The rest of an open period is projected from days before it too, all of them where it has no read yet. */
function toScanned(context: BillContext, all: BillRuns): { readonly scanned?: string } {
  const { first, last } = all.period
  if (last < knownDay(context, all)) return {}
  return { scanned: fromDays(toDays(first) - pastDays.all) }
}

interface Ahead {
  readonly runs: readonly CycleRun[]
  readonly days: Days
}

/**
 * The days that are yet to come, or of which no read of a cycle has come, with the cycles of which that holds;
 * none where the period has ended.
 */
async function findAhead(context: BillContext, all: BillRuns): Promise<readonly Ahead[]> {
  const { tables, period, request, runs } = all
  const today = knownDay(context, all)
  if (period.last < today) return []
  const days = { from: toDays(period.first), to: toDays(period.last) }
  const past = { from: days.from, to: toDays(today) - 1 }
  const found = await context.store.rows<{ run: string; day: number }>(
    newestDays(tables, past, request.asOf && toClickHouseTime(request.asOf)),
  )
  const newest = new Map(found.map(({ run, day }) => [run, day]))
  const newestOf = ({ run }: CycleRun) => newest.get(run) ?? 0
  return groupBy(runs, newestOf).map((some) => ({
    runs: some,
    days: daysAhead(days, newestOf(some[0])),
  }))
}

interface Compiling {
  readonly book: RateBook
  readonly isBilled: boolean
  readonly ahead: Days | undefined
}

interface Compiled {
  readonly plans: PlanContext
  readonly compilation: Compilation
  readonly projection: Projection | undefined
}

/** The plans of all members, written down with their runs. */
async function compile(
  context: BillContext,
  { tables, period }: BillRuns,
  { book, isBilled, ahead }: Compiling,
): Promise<Compiled> {
  const { store } = context
  const first = toDays(period.first) - 1
  const from = ahead === undefined ? first : Math.min(first, ahead.from - pastDays.all)
  const days = { from, to: toDays(period.last) + 1 }
  const plans = layOut(context, book, days)
  const members = await readPlans(store, tables, period)
  const compilation: Compilation = {
    ...compilePlans(plans, members),
    ...(ahead !== undefined && { lastActual: ahead.from - 1 }),
  }
  await store.insert(
    'bill_plan',
    compilation.plans.flatMap((plan, at) => {
      const row = { ...toPlanRow(plan), ...toDayColumns(compilation, plan) }
      return members[at]?.runs.map((run) => ({ ...row, run })) ?? []
    }),
  )
  if (ahead === undefined) {
    const labelled = isBilled ? labelCounterfactuals(compilation, plans) : compilation
    return { plans, compilation: labelled, projection: undefined }
  }
  const projection = createProjection(plans.slots, ahead, book.holidays(''))
  const labellings = [{ isWhole: true, labels: projection.labels }]
  return { plans, compilation: { ...compilation, labellings }, projection }
}

/** What plans of some days are made from: the rates and the quarter hours of those days. */
export function layOut(
  { zone, profile: { billing } }: Pick<BillContext, 'zone' | 'profile'>,
  book: RateBook,
  days: Days,
): PlanContext {
  return { book, slots: createSlots(zone, days, billing.periodClock), rules: billing }
}

/** The name of one run: see `nameRuns`. */
export async function nameRun(
  context: Pick<BillContext, 'store' | 'now'>,
  table: 'bill_run' | 'comparison_run',
): Promise<string> {
  const [name] = await nameRuns(context, table, 1)
  return name as string
}

/**
 * Names that sort by when the runs began: of two runs of one period the later one counts. They sort behind
 * all that have been published, also where a clock was ahead then.
 */
async function nameRuns(
  { store, now }: Pick<BillContext, 'store' | 'now'>,
  table: 'bill_run' | 'comparison_run',
  count: number,
): Promise<readonly string[]> {
  const [latest] = await store.rows<{ stamp: string }>({
    sql: sql`SELECT toString(toUInt64OrZero(splitByChar('_', max(run))[1]) + 1) AS stamp FROM ${id(table)}`,
  })
  const own = now().toISOString().replace(/\D/g, '')
  const [last] = [own, (latest?.stamp ?? '').padStart(own.length, '0')].sort().reverse()
  return Array.from({ length: count }, () => `${last}_${randomBytes(4).toString('hex')}`)
}

/** The day on the wall. */
export function localDay({ zone, now }: Pick<BillContext, 'zone' | 'now'>): string {
  return dayAt(zone, now())
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

import { randomBytes } from 'node:crypto'
import { fromDays, toDays } from '../../schemas/lint/finding.js'
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
import type { BillContext, BillRequest, BillRun } from './context.js'
import { toDayColumns } from './costs/spread.js'
import { gatherMembers, readPlans, tablesOf } from './members.js'
import { findPeriod } from './period.js'
import { type Pricing, priceBills } from './price.js'
import { daysAhead } from './project.js'
import { type BillCounts, type Inputs, newestFile, publishBills } from './publish.js'
import { readRates } from './rates.js'
import { newestDay } from './scan/reads.js'
import { beginRun, sumReads } from './scan/sum-reads.js'
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
  const run = await nameRun(context, 'bill_run')
  const tables = tablesOf(run)
  try {
    return await compute(context, { request, period, run, tables })
  } finally {
    await dropTables(store, Object.values(tables))
  }
}

/** No run lasts a day: what is that old was left by one that crashed. */
export async function dropLeft(store: Store): Promise<void> {
  const left = await store.rows<{ name: string }>({
    sql: sql`SELECT name FROM system.tables
      WHERE database = currentDatabase() AND match(name, '^bill_(member|vector|projected|last|mask|billed|variant|step|compared|forgotten)_[0-9]')
        AND metadata_modification_time < now() - INTERVAL 1 DAY`,
  })
  await dropTables(
    store,
    left.map(({ name }) => name),
  )
}

async function compute(context: BillContext, run: BillRun): Promise<BillSummary> {
  const { store, profile } = context
  const { tables, period } = run
  const clock = createClock()
  // Files that are published from here on may or may not be seen; they count as not seen.
  const newest = await newestFile(store)
  await beginRun(store, tables)
  const [rates] = await Promise.all([
    readRates(store, profile.companyCodes, readerOn(store, tables.masks)),
    gatherMembers(store, tables, { period, profile, ...toScanned(context, run) }),
  ])
  const inputs: Inputs = { ...newest, rates }
  const seconds = { compile: clock(), scan: 0, price: 0, reconcile: 0, publish: 0 }
  await store.command(gatherBilled(tables))
  const [billed] = await store.rows<{ n: string }>({
    sql: sql`SELECT toString(count()) AS n FROM ${id(tables.billed)}`,
  })
  const ahead = await findAhead(context, run)
  const isBilled = billed?.n !== '0' && ahead === undefined
  seconds.reconcile = clock()
  const compiled = await compile(context, run, { ...rates, isBilled, ahead })
  const { plans, compilation, projection } = compiled
  seconds.compile += clock()
  const classes = await sumReads(context, run, { ...compiled, isSpread: true })
  seconds.scan = clock()
  const pricing: Pricing = {
    run: run.run,
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
  const published = await publishBills(context, run, inputs)
  seconds.publish = clock()
  const { cycleId, first, last } = period
  return { run: run.run, cycleId, first, last, ...published, ...variance, seconds }
}

/** The local day on which a run knows what it knows. */
function knownDay({ zone, now }: BillContext, { request: { asOf } }: BillRun): string {
  return localDay({ zone, now: () => asOf ?? now() })
}

/** The rest of an open period is projected from days before it too, all of them where it has no read yet. */
function toScanned(context: BillContext, run: BillRun): { readonly scanned?: string } {
  const { first, last } = run.period
  if (last < knownDay(context, run)) return {}
  return { scanned: fromDays(toDays(first) - pastDays.all) }
}

/** The days that are yet to come, or of which no read has come; undefined where a period has ended. */
async function findAhead(context: BillContext, run: BillRun): Promise<Days | undefined> {
  const { store } = context
  const { tables, period } = run
  const { asOf } = run.request
  const today = knownDay(context, run)
  if (period.last < today) return undefined
  const days = { from: toDays(period.first), to: toDays(period.last) }
  const past = { from: days.from, to: toDays(today) - 1 }
  const [newest] = await store.rows<{ day: number }>(
    newestDay(tables, past, asOf && toClickHouseTime(asOf)),
  )
  return daysAhead(days, newest?.day ?? 0)
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

/** The plans of all members, written down with the run. */
async function compile(
  context: BillContext,
  run: BillRun,
  { book, isBilled, ahead }: Compiling,
): Promise<Compiled> {
  const { store } = context
  const first = toDays(run.period.first) - 1
  const from = ahead === undefined ? first : Math.min(first, ahead.from - pastDays.all)
  const days = { from, to: toDays(run.period.last) + 1 }
  const plans = layOut(context, book, days)
  const compilation: Compilation = {
    ...compilePlans(plans, await readPlans(store, run.tables, run.period)),
    ...(ahead !== undefined && { lastActual: ahead.from - 1 }),
  }
  await store.insert(
    'bill_plan',
    compilation.plans.map((plan) => ({
      ...toPlanRow(run.run, plan),
      ...toDayColumns(compilation, plan),
    })),
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

/**
 * Sorts by when it began: of two runs of one period the later one counts. It sorts behind all that
 * have been published, also where a clock was ahead then.
 */
export async function nameRun(
  { store, now }: Pick<BillContext, 'store' | 'now'>,
  table: 'bill_run' | 'comparison_run',
): Promise<string> {
  const [latest] = await store.rows<{ stamp: string }>({
    sql: sql`SELECT toString(toUInt64OrZero(splitByChar('_', max(run))[1]) + 1) AS stamp FROM ${id(table)}`,
  })
  const own = now().toISOString().replace(/\D/g, '')
  const [last] = [own, (latest?.stamp ?? '').padStart(own.length, '0')].sort().reverse()
  return `${last}_${randomBytes(4).toString('hex')}`
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

import { Fault } from '../../../schemas/fault.js'
import { toDays } from '../../../schemas/lint/finding.js'
import type { PlanContext } from '../../../schemas/rating/plan.js'
import type { RateBook } from '../../../schemas/rating/rate-book.js'
import { publishSubjects } from '../../ledger/publication.js'
import type { Store } from '../../store/clickhouse.js'
import { onReplicas, type RowReader } from '../../store/replicas.js'
import { literal, sql } from '../../store/sql.js'
import { dropTables } from '../../store/staging.js'
import { askOneServer, onOneServer, onServerOf } from '../../whole.js'
import { type Compilation, compilePlans, toPlanRow } from '../compile.js'
import type { BillContext } from '../context.js'
import { gatherMembers, type NumberedPlan, readPlans } from '../members.js'
import { type CycleYear, findYears, type Period } from '../period.js'
import { createPlans } from '../price.js'
import { newestFile } from '../publish.js'
import { type RatesInForce, readRates } from '../rates.js'
import { dropLeft, layOut, localDay, nameRun } from '../run.js'
import { beginRun, sumReads } from '../scan/sum-reads.js'
import { tablesOf } from '../tables.js'
import {
  type ComparisonCount,
  countComparisons,
  createCompared,
  priceRates,
  sumPeriods,
} from './comparison.js'

export interface ComparisonSummary {
  readonly run: string
  /** Cycles that were compared, with the first and the last day. */
  readonly cycles: readonly { cycleId: string; first: string; last: string; periods: number }[]
  /** Cycles that the schedule in force does not know, or of which no period has ended. */
  readonly skipped: readonly { cycleId: string; meters: number }[]
  readonly rateCodes: number
  readonly meters: number
  /** Number of comparisons by status. */
  readonly comparisons: Readonly<Record<string, number>>
  /** Why there is no total or intervals are missing, the most frequent first. */
  readonly reasons: readonly ComparisonCount[]
  readonly seconds: number
}

interface Comparing {
  readonly context: BillContext
  readonly run: string
  readonly rates: RatesInForce
  /** The table that gathers the periods of one cycle. */
  readonly compared: string
}

/**
 * Computes what the last 12 months of every registered meter, or of those of one cycle, would have
 * cost under each rate of its commodity, and publishes all of it at once: the row of the run is
 * written last, and until then readers see the comparison before. The reads of a period are scanned
 * once for all rates. Throws `CONFIG` where no cycle of a registered meter has a period that has ended.
 */
export async function compare(
  context: BillContext,
  { cycleId }: { readonly cycleId?: string } = {},
): Promise<ComparisonSummary> {
  const { store, profile } = context
  const began = performance.now()
  const run = await nameRun(context, 'comparison_run')
  const { usageVersion, rates, all } = await askOneServer(store, undefined, async (server) => {
    const { arrival: usageVersion } = await newestFile(server)
    const rates = await readRates(store, profile.companyCodes, server)
    const all = await findYears(server, profile.companyCodes, localDay(context))
    await dropReplaced(store, server)
    return { usageVersion, rates, all }
  })
  const years = all.filter((year) => cycleId === undefined || year.cycleId === cycleId)
  const compared = years.filter(({ periods }) => periods.length > 0)
  if (compared.length === 0) throw nothingToCompare(cycleId, all)
  await dropLeft(store)
  for (const [at, year] of compared.entries()) {
    const gathered = { context, run, rates, compared: `bill_compared_${run}_${at}` }
    try {
      await compareCycle(gathered, year)
    } finally {
      await dropTables(store, [gathered.compared])
    }
  }
  const published = await publish(context, { run, rates, years: compared, usageVersion })
  return {
    run,
    cycles: compared.map(spanOf),
    skipped: years.filter(({ periods }) => periods.length === 0),
    rateCodes: offered(rates.book).length,
    ...published,
    seconds: (performance.now() - began) / 1_000,
  }
}

function nothingToCompare(cycleId: string | undefined, years: readonly CycleYear[]): Fault {
  const cycles = years.map((year) => JSON.stringify(year.cycleId)).join(', ')
  const isKnown = cycleId === undefined || years.some((year) => year.cycleId === cycleId)
  const asked = cycleId === undefined ? '' : ` of cycle ${JSON.stringify(cycleId)}`
  const why =
    years.length === 0
      ? 'no meter is registered: run tieline register first'
      : isKnown
        ? `no period of the cycles of registered meters (${cycles}) has ended: load their BillingCycles file`
        : `the cycles of registered meters are ${cycles}`
  return new Fault('CONFIG', `nothing${asked} to compare; ${why}`)
}

function spanOf({ cycleId, periods }: CycleYear) {
  const [first, last] = [periods[0]?.first ?? '', periods.at(-1)?.last ?? '']
  return { cycleId, first, last, periods: periods.length }
}

/**
 * Drops runs that nobody reads: each of their cycles has a later run, or no registered meter any more.
 * A run that began earlier than another of the same cycle is never the latest. A server that lags may have a run and
 * not the tenancies of its cycle.
 */
async function dropReplaced(store: Store, server: RowReader): Promise<void> {
  const replaced = await server.rows<{ run: string }>({
    sql: sql`SELECT c.run AS run FROM (SELECT DISTINCT run, billing_cycle_id FROM rate_comparison_row) AS c
      LEFT JOIN comparison_run_current AS r ON r.billing_cycle_id = c.billing_cycle_id
      GROUP BY run
      HAVING min(c.run < r.run OR c.billing_cycle_id NOT IN (SELECT toString(billing_cycle_id) FROM tenancy FINAL))`,
  })
  for (const { run } of replaced) {
    const drop = sql`ALTER TABLE rate_comparison_row DROP PARTITION ${literal(run)}`
    await onReplicas(store, 'rate_comparison_row', drop)
  }
}

async function compareCycle(comparing: Comparing, { cycleId, periods }: CycleYear): Promise<void> {
  const { context, run, compared } = comparing
  await context.store.command(createCompared(compared))
  for (const period of periods) await comparePeriod(comparing, period)
  const last = toDays(periods.at(-1)?.last ?? '')
  await context.store.command(sumPeriods({ run, compared, cycleId, last }))
}

async function comparePeriod(comparing: Comparing, period: Period): Promise<void> {
  const { context, rates, compared } = comparing
  const { store, profile } = context
  const run = `${comparing.run}_${period.first.replaceAll('-', '')}`
  const tables = tablesOf(run)
  try {
    await beginRun(store, tables)
    const runs = [{ run, ...period }]
    await gatherMembers(store, tables, { period, runs, profile })
    const [first, last] = [toDays(period.first), toDays(period.last)]
    const plans = layOut(context, rates.book, { from: first - 1, to: last + 1 })
    const compilation = compileRates(plans, await readPlans(store, tables, period))
    if (compilation.plans.length === 0) return
    await store.command(createPlans(tables))
    await store.insert(tables.variants, planRows(plans, compilation))
    const ran = { request: {}, period, runs, tables }
    await sumReads(context, ran, { compilation, projection: undefined, isSpread: false })
    const { rules, slots } = plans
    const pricing = { tables, rules, slots, lastActual: last }
    await store.command(priceRates(pricing, compared))
  } finally {
    await dropTables(store, Object.values(tables))
  }
}

/** The codes that the latest file of each company has. */
function offered({ codes }: RateBook): readonly string[] {
  return [...codes].flatMap(([code, { isRetired }]) => (isRetired ? [] : [code]))
}

/** Every rate on offer and the others that members have, for all days of members. */
function compileRates(plans: PlanContext, members: readonly NumberedPlan[]): Compilation {
  const own = members.map(({ rates }) => rates.at(-1)?.rateCode ?? '')
  const rateCodes = [...new Set([...offered(plans.book), ...own])]
  const days = new Map(members.map((one) => [`${one.from} ${one.to}`, one]))
  const numbered = [...days.values()].flatMap(({ from, to, isWhole }) =>
    rateCodes.map((rateCode) => ({ from, to, isWhole, rates: [{ rateCode, from, to }] })),
  )
  return compilePlans(
    plans,
    numbered.map((one, at) => ({ ...one, plan: at + 1 })),
  )
}

/** The rows of plans with the commodity of their rate, also where it has no price. */
function planRows({ book }: PlanContext, { plans }: Compilation): readonly object[] {
  return plans.map((one) => {
    const code = book.codes.get(one.days.rates[0]?.rateCode ?? '')?.row
    return { ...toPlanRow(one), commodity: code?.['Commodity'] ?? '' }
  })
}

interface Results {
  readonly run: string
  readonly rates: RatesInForce
  readonly years: readonly CycleYear[]
  readonly usageVersion: number
}

async function publish(
  context: BillContext,
  { run, rates, years, usageVersion }: Results,
): Promise<Pick<ComparisonSummary, 'meters' | 'comparisons' | 'reasons'>> {
  const { store, profile } = context
  const { counts, meters } = await count(store, run)
  const comparisons: Record<string, number> = {}
  for (const one of counts) {
    comparisons[one.status] = (comparisons[one.status] ?? 0) + one.comparisons
  }
  await store.insert('comparison_run_row', [
    {
      run,
      cycles: years.map(({ cycleId }) => cycleId),
      last_dates: years.map(({ periods }) => periods.at(-1)?.last ?? ''),
      rate_codes: offered(rates.book),
      meters,
      comparisons,
      usage_version: usageVersion,
      rate_file_ids: rates.fileIds,
      settings: JSON.stringify(profile.billing),
    },
  ])
  await publishSubjects(context, [{ kind: 'comparison', run }])
  return { meters, comparisons, reasons: counts.filter(({ status }) => status !== 'compared') }
}

/** Each cycle may have been compared on another server, so the one that answers has to have all of them. */
function count(store: Store, run: string) {
  const table = `bill_compared_${run}_all`
  return onOneServer(store, { table, tables: ['rate_comparison_row'] }, async () => {
    const counts = await store.rows<ComparisonCount>(countComparisons(run, table))
    const [found] = await store.rows<{ meters: string }>({
      sql: sql`SELECT toString(uniqExact(meter_id)) AS meters FROM rate_comparison_row
        WHERE run = ${run} AND ${onServerOf(table)}`,
    })
    return { counts, meters: Number(found?.meters) }
  })
}

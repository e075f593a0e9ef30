import type { Store } from '../../pipeline/store/clickhouse.js'
import { type Sql, sql, typed } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import type { CauseFact, DayFact, OutlierFact, ReportFacts, ReportRun, ShapeFact } from './facts.js'

export interface ReportWanted {
  readonly cycleId: string
  /** First day of the period; default: the latest period without projected bills, else the latest. */
  readonly start?: string | undefined
}

/** Bills in the table of the largest variances. */
const outliersMax = 20
/** A run that is replaced while it is read is read again, this many times. */
const readingsMax = 3

/**
 * Reads the latest run of a cycle and period. Throws `CONFIG` for a cycle that does not exist, and for a
 * period without bills.
 */
export async function readFacts(
  store: Store,
  wanted: ReportWanted,
  timeZone: string,
): Promise<ReportFacts> {
  for (let reading = 1; ; reading++) {
    const found = await findRun(store, wanted)
    const run = { ...found, timeZone }
    const facts = { run, ...(await readBills(store, run)), ...(await readUsage(store, run)) }
    const after = await findRun(store, { cycleId: run.cycleId, start: run.first })
    if (after.run === run.run || reading === readingsMax) return facts
  }
}

/** The run of the period whose bills are in force: never one as of an earlier instant. */
async function findRun(store: Store, wanted: ReportWanted): Promise<Omit<ReportRun, 'timeZone'>> {
  const { cycleId, start } = wanted
  const runs = await store.rows<Omit<ReportRun, 'timeZone'>>({
    sql: sql`SELECT run, billing_cycle_id AS cycleId, toString(start_date) AS first, toString(last_date) AS last,
        toString(computed_at) AS computedAt, toString(known_at) AS knownAt
      FROM bill_run
      WHERE billing_cycle_id = ${cycleId} AND run IN (SELECT run FROM projected_bill WHERE billing_cycle_id = ${cycleId})
      ORDER BY bills['projected'] > 0, start_date DESC`,
  })
  const found = start === undefined ? runs[0] : runs.find(({ first }) => first === start)
  if (found !== undefined) return found
  throw await noRun(store, wanted, runs)
}

async function noRun(
  store: Store,
  { cycleId, start }: ReportWanted,
  runs: readonly { readonly first: string }[],
): Promise<Fault> {
  const name = `billing cycle ${JSON.stringify(cycleId)}`
  if (runs.length > 0) {
    const days = runs.map(({ first }) => first).slice(0, 12)
    const known = `its periods with bills begin on ${days.join(', ')}`
    return new Fault('CONFIG', `${name} has no bills of a period from ${start}; ${known}`)
  }
  const cycles = await store.rows<{ id: string }>({
    sql: sql`SELECT DISTINCT billing_cycle_id AS id FROM billing_cycle ORDER BY length(id), id LIMIT 200`,
  })
  if (cycles.some(({ id }) => id === cycleId)) {
    const period = start === undefined ? '' : ` --period ${start}`
    return new Fault('CONFIG', `${name} has no bills; run tieline bill --cycle ${cycleId}${period}`)
  }
  const known =
    cycles.length === 0
      ? 'load a BillingCycles file'
      : `name one of ${cycles.map(({ id }) => id).join(', ')}`
  return new Fault('CONFIG', `${name} does not exist; ${known}`)
}

type Bills = Pick<ReportFacts, 'totals' | 'compared' | 'costCauses' | 'quantityCauses' | 'outliers'>

async function readBills(store: Store, { run }: ReportRun): Promise<Bills> {
  const totals = await store.rows<ReportFacts['totals'][number]>({
    sql: sql`SELECT status, commodity, unit, toFloat64(count()) AS bills, toString(sum(p.quantity)) AS quantity,
        toString(sum(p.total)) AS total, toFloat64(sum(intervals_expected)) AS expected,
        toFloat64(sum(intervals_present)) AS present
      FROM projected_bill AS p WHERE run = ${run} GROUP BY status, commodity, unit ORDER BY status, commodity, unit`,
  })
  const compared = await store.rows<ReportFacts['compared'][number]>({
    sql: sql`SELECT cost_status AS costStatus, unit, toFloat64(count()) AS bills,
        toString(sum(quantity_billed)) AS quantityBilled, toString(sum(quantity_computed)) AS quantityComputed,
        toString(sum(cost_billed)) AS costBilled, toString(sum(cost_computed)) AS costComputed,
        toString(sum(cost_difference)) AS costDifference
      FROM bill_variance WHERE run = ${run} GROUP BY cost_status, unit ORDER BY cost_status, unit`,
  })
  return {
    totals,
    compared,
    costCauses: await readCauses(store, {
      unit: sql`''`,
      causes: sql`cost_causes`,
      where: sql`run = ${run} AND cost_status = 'differs'`,
    }),
    quantityCauses: await readCauses(store, {
      unit: sql`unit`,
      causes: sql`quantity_causes`,
      where: sql`run = ${run} AND quantity_status = 'differs'`,
    }),
    outliers: await readOutliers(store, run),
  }
}

function readCauses(
  store: Store,
  { unit, causes, where }: { readonly unit: Sql; readonly causes: Sql; readonly where: Sql },
): Promise<readonly CauseFact[]> {
  return store.rows<CauseFact>({
    sql: sql`SELECT part.1 AS cause, ${unit} AS unit, toFloat64(count()) AS bills, toString(sum(part.2)) AS net,
        toString(sum(abs(part.2))) AS moved
      FROM bill_variance ARRAY JOIN CAST(${causes}, 'Array(Tuple(String, Decimal(18, 6)))') AS part
      WHERE ${where} GROUP BY cause, unit ORDER BY unit, sum(abs(part.2)) DESC, cause`,
  })
}

function readOutliers(store: Store, run: string): Promise<readonly OutlierFact[]> {
  return store.rows<OutlierFact>({
    sql: sql`SELECT account_number AS account, meter_id AS meter, toString(start_date) AS first, toString(last_date) AS last, unit,
        toString(quantity_difference) AS quantityDifference, toString(cost_billed) AS costBilled,
        toString(cost_computed) AS costComputed, toString(cost_difference) AS costDifference,
        mapApply((k, v) -> (k, toString(v)), cost_causes) AS costCauses,
        mapApply((k, v) -> (k, toString(v)), quantity_causes) AS quantityCauses
      FROM bill_variance
      WHERE run = ${run} AND (cost_status = 'differs' OR quantity_status = 'differs')
      ORDER BY abs(cost_difference) DESC NULLS LAST, abs(quantity_difference) DESC, meter_id, start_date
      LIMIT ${outliersMax}`,
  })
}

async function readUsage(
  store: Store,
  { run, cycleId, first, last }: ReportRun,
): Promise<Pick<ReportFacts, 'days' | 'shape'>> {
  const meters = sql`(SELECT meter_id FROM projected_bill WHERE run = ${run})`
  const period = sql`local_day BETWEEN ${typed('Date', first)} AND ${typed('Date', last)}`
  const days = await store.rows<DayFact>({
    sql: sql`SELECT toString(b.local_day) AS day, toFloat64(count()) AS meters, toFloat64(countIf(d.is_known)) AS known,
        toFloat64(sum(d.intervals_expected)) AS expected, toFloat64(sum(d.intervals_present)) AS present,
        toFloat64(countIf(d.is_known AND d.intervals_present = 0)) AS silent,
        toFloat64(countIf(d.intervals_present > 0 AND d.intervals_present < d.intervals_expected)) AS partial
      FROM (SELECT DISTINCT meter_id, arrayJoin(arrayMap(n -> start_date + n, range(toUInt32(last_date - start_date + 1)))) AS local_day
        FROM projected_bill WHERE run = ${run}) AS b
      LEFT JOIN (SELECT meter_id, local_day, true AS is_known, intervals_expected, intervals_present FROM usage_day
        WHERE ${period} AND meter_id IN ${meters}) AS d
        ON d.meter_id = b.meter_id AND d.local_day = b.local_day
      GROUP BY b.local_day ORDER BY b.local_day`,
  })
  const shape = await store.rows<ShapeFact>({
    sql: sql`SELECT commodity, rate_code AS rateCode, unit, local_hour AS hour, toFloat64(uniqExact(meter_id)) AS meters,
        toFloat64(sum(quantity)) * 3600 / sum(seconds) AS perHour
      FROM registered_usage
      WHERE ${period} AND meter_id IN ${meters} AND billing_cycle_id = ${cycleId} AND seconds <= 3600
      GROUP BY commodity, rate_code, unit, local_hour ORDER BY commodity, rate_code, unit, local_hour`,
  })
  return { days, shape }
}

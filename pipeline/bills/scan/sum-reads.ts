import { toDays } from '../../../schemas/lint/finding.js'
import type { PriceBuckets } from '../../../schemas/rating/price-buckets.js'
import type { Projection } from '../../../schemas/rating/projection.js'
import { slotsOf } from '../../../schemas/rating/slots.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { toClickHouseTime } from '../../store/columns.js'
import { createCatchUp } from '../../store/replicas.js'
import { onServerOf } from '../../whole.js'
import {
  bucketsOf,
  type Compilation,
  type CompiledPlan,
  planLabellings,
  plansOf,
  scanPasses,
  toMaskRows,
} from '../compile.js'
import type { BillContext, BillRuns } from '../context.js'
import { dayBucketsOf, toDayMasks } from '../costs/spread.js'
import { createMasks } from '../price.js'
import { project } from '../project.js'
import { createCycles, type RunTables } from '../tables.js'
import type { Scan } from './reads.js'
import {
  countAlone,
  countLeft,
  countOdd,
  createVectors,
  scanLeft,
  scanOdd,
  scanWhole,
} from './scan.js'

export interface SumInputs {
  readonly compilation: Compilation
  /** The rest of the period, where it has not ended. */
  readonly projection: Projection | undefined
  /** Whether the sums of each day are wanted too, by which costs are spread. */
  readonly isSpread: boolean
}

/** The classes by which the vectors of each pass were made. */
export type BucketsByPass = ReadonlyMap<number, PriceBuckets>

/**
 * Creates the first tables of a run, and waits until the server that has them has all that was published before: no
 * other one can answer what names a table of the run.
 */
export async function beginRun(store: Store, tables: RunTables): Promise<void> {
  await Promise.all(
    [createVectors(tables.vectors), createMasks(tables), createCycles(tables)].map((one) =>
      store.command(one),
    ),
  )
  await createCatchUp(store, undefined, onServerOf(tables.masks))()
}

/**
 * Brings the reads of all members into vectors: nearly all in one pass, then the few that it leaves.
 * In an open period all have the same classes, so that one rule projects the rest.
 */
export async function sumReads(
  { store }: Pick<BillContext, 'store'>,
  { tables, period, request }: BillRuns,
  { compilation, projection, isSpread }: SumInputs,
): Promise<BucketsByPass> {
  const { slots } = compilation
  const to = projection === undefined ? toDays(period.last) : projection.ahead.from - 1
  const bucketsByPass = new Map<number, PriceBuckets>()
  const scanOf = async (pass: number): Promise<Scan> => {
    const classes = bucketsOf(compilation, projection === undefined ? pass : scanPasses.odd)
    bucketsByPass.set(pass, classes)
    // Those of a projection distinguish each quarter hour of a week.
    const finest = projection === undefined ? [classes.bucketOf] : planLabellings(compilation, pass)
    const dayBuckets = isSpread ? dayBucketsOf(compilation, finest) : undefined
    const plans = plansOf(compilation, pass)
    const masks = toMaskRows(compilation, pass, classes).map((row, at) => ({
      ...row,
      ...(dayBuckets && toDayMasks(compilation, plans[at] as CompiledPlan, dayBuckets)),
    }))
    await store.insert(tables.masks, masks)
    const days = slotsOf(slots, { from: toDays(period.first), to })
    const asOf = request.asOf === undefined ? {} : { asOf: toClickHouseTime(request.asOf) }
    const past = projection === undefined ? {} : { past: projection.past }
    return { tables, slots, classes, dayBuckets, period: days, ...asOf, ...past }
  }
  const whole = await scanOf(scanPasses.whole)
  await store.command(scanWhole(whole, await metersOf(store, countAlone(tables))))
  if ((await metersOf(store, countLeft(tables))) > 0) await store.command(scanLeft(whole))
  const hasOdd = (await metersOf(store, countOdd(tables))) > 0
  if (hasOdd || projection !== undefined) {
    const odd = await scanOf(scanPasses.odd)
    if (hasOdd) await store.command(scanOdd(odd))
  }
  if (projection !== undefined) await project(store, { scan: whole, projection })
  return bucketsByPass
}

async function metersOf(store: Store, count: Statement): Promise<number> {
  const [found] = await store.rows<{ meters: string }>(count)
  return Number(found?.meters)
}

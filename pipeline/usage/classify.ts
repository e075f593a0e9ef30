import { lengthsOf } from '../../schemas/settings/profile.js'
import { intervalEnd, intervalStart } from '../../schemas/time/read-timestamp.js'
import { isDayFormat } from '../../schemas/time/timestamp.js'
import { daySeconds } from '../../schemas/time/zone.js'
import type { PipelineContext } from '../context.js'
import { countForeign, foreignRows, keepOwn } from '../customers/registered.js'
import type { FileState } from '../ledger/file-state.js'
import { addQuantities, subtractQuantities } from '../ledger/sums.js'
import type { Store } from '../store/clickhouse.js'
import { countFinal, countSurvivors, repeatsWithin } from '../store/outcome.js'
import { id, sql } from '../store/sql.js'
import { stagingOf } from '../store/staging.js'
import { type StagingTotals, totalShapes } from './irregular-meters.js'
import { findRepairs, rejectLengths } from './lengths.js'
import {
  type Counted,
  compareWithStore,
  keepAccepted,
  type Overlap,
  type Staged,
  storeHasDays,
} from './overlap.js'
import { type Move, recordRepairs, repairMeters, type Unusable } from './rekey.js'
import { toLocalStart } from './timestamps.js'

/** Staged rows that are usable, and the table that holds them. */
export interface Usable {
  readonly table: string
  readonly totals: StagingTotals
  readonly rejected: Unusable
  /** Rows of the table whose key no later row repeats. */
  readonly survivors: number
  /** When the last interval ends, epoch seconds. */
  readonly lastEnd: number
}

/**
 * Gives every meter its real interval length and rejects what has none. `totals` are those of
 * `reads`; nothing is copied where all meters are regular.
 */
export async function settleLengths(
  context: PipelineContext,
  state: FileState,
  { totals, reland }: { readonly totals: StagingTotals; readonly reland: () => Promise<void> },
): Promise<Usable> {
  const { store } = context
  const { reads, fixed } = stagingOf(state.arrival)
  const { seconds, format } = state.manifest
  const survivors = await countSurvivors(store, state, totals)
  // A shape of days says nothing of the time of day, which these formats do not have.
  const isShapely = seconds !== daySeconds || (format !== null && isDayFormat(format))
  const isNamed = lengthsOf(context.profile, state.feed).includes(seconds)
  const byShape = isShapely && isNamed
  const isRegular = totals.irregularMeters === 0 && byShape
  const repairs = isRegular ? [] : await findRepairs(context, state, byShape)
  if (repairs.length === 0) {
    const lastEnd = intervalEnd(totals.lastIntervalStart, seconds, context.zone)
    return { table: reads, totals, rejected: { ...none, meters: 0 }, survivors, lastEnd }
  }
  await recordRepairs(store, state.arrival, repairs)
  const rejected = await rejectLengths(context, state, reland)
  await repairMeters(store, state.arrival, moveOf(context, state))
  return { ...(await lookAgain(context, state, fixed)), rejected }
}

/** A stamp at the end of an interval says when it starts once the meter's length is known. */
function moveOf({ profile, zone }: PipelineContext, { manifest }: FileState): Move | undefined {
  const { seconds: taken, format } = manifest
  if (profile.usage.stamp === 'start' || (format !== null && isDayFormat(format))) return undefined
  return (startsAt, seconds) =>
    toLocalStart(intervalStart(startsAt + taken, seconds, zone), { zone })
}

/** What a table holds that was made of another one. */
async function lookAgain(
  context: PipelineContext,
  { manifest }: FileState,
  table: string,
): Promise<Omit<Usable, 'rejected'>> {
  const ends = await lastStarts(context.store, table)
  return {
    table,
    totals: await totalShapes(context.store, table, manifest.seconds),
    survivors: await countFinal(context.store, table),
    lastEnd: Math.max(
      0,
      ...ends.map((last) => intervalEnd(last.start, last.seconds, context.zone)),
    ),
  }
}

/** The last start of each length that stands in a staging table, epoch seconds. */
function lastStarts(
  store: Store,
  table: string,
): Promise<readonly { readonly seconds: number; readonly start: number }[]> {
  return store.rows({
    sql: sql`SELECT seconds, toUnixTimestamp(max(starts_at)) AS start FROM ${id(table)} GROUP BY seconds`,
  })
}

/**
 * Leaves out the rows that are not stored, of meters that no registered customer has or of erased
 * accounts (decision 21), and counts them by what is left: customers register meanwhile.
 */
export async function dropUnregistered(
  context: PipelineContext,
  state: FileState,
  usable: Usable,
): Promise<Usable & { readonly unregistered: Counted }> {
  const { store, profile } = context
  const isForeign = await foreignRows(store, profile, { columns: readColumns, reads: usable.table })
  if (isForeign === undefined) return { ...usable, unregistered: none }
  const [found] = await store.rows<Counted>(countForeign(usable.table, isForeign))
  if (Number(found?.rows ?? 0) === 0) return { ...usable, unregistered: none }
  const { registered: to } = stagingOf(state.arrival)
  const statements = keepOwn({ from: usable.table, to }, isForeign)
  for (const statement of statements) await store.command(statement)
  const kept = await lookAgain(context, state, to)
  const unregistered = {
    rows: usable.totals.rows - kept.totals.rows,
    quantity: subtractQuantities(usable.totals.quantity, kept.totals.quantity),
  }
  return { ...usable, ...kept, unregistered }
}

const readColumns = ['account_number', 'meter_id']

const none: Counted = { rows: 0, quantity: '0' }
const noOverlap: Overlap = {
  duplicate: none,
  superseded: none,
  restated: none,
  rewritten: none,
  netQuantity: '0',
}

/**
 * Classifies the usable rows: within the file the last row of a key survives, and
 * a survivor that the store has already, or has better, is not published again (decision 22).
 */
export async function classify(
  context: PipelineContext,
  state: FileState,
  usable: Usable,
): Promise<FileState> {
  const { store } = context
  const { table, totals, survivors } = usable
  const { firstDay, lastDay } = totals
  const repeats = survivors !== totals.rows
  const { arrival, feed } = state
  const staged: Staged = { arrival, feed, table, firstDay, lastDay, repeats }
  const within = !repeats
    ? { duplicate: none, superseded: none }
    : await repeatsWithin(store, table)
  const overlaps = totals.rows > 0 && (await storeHasDays(store, staged))
  const overlap = overlaps ? await compareWithStore(store, staged, context.profile) : noOverlap
  const thins = overlap.duplicate.rows + overlap.superseded.rows > 0
  if (thins) for (const statement of keepAccepted(staged)) await store.command(statement)
  const rows = {
    duplicate: within.duplicate.rows + overlap.duplicate.rows,
    superseded: within.superseded.rows + overlap.superseded.rows,
  }
  const quantity = {
    duplicate: addQuantities(within.duplicate.quantity, overlap.duplicate.quantity),
    superseded: addQuantities(within.superseded.quantity, overlap.superseded.quantity),
  }
  const left = subtractQuantities(totals.quantity, quantity.duplicate, quantity.superseded)
  return {
    ...state,
    ...extentOf(usable),
    status: 'publishing',
    rows: { ...state.rows, ...rows, accepted: totals.rows - rows.duplicate - rows.superseded },
    quantity: { ...state.quantity, ...quantity, accepted: left },
    restated: { rows: overlap.restated.rows, netQuantity: overlap.netQuantity },
    attaches: thins ? stagingOf(state.arrival).final : table,
    restates: overlap.restated.rows + overlap.rewritten.rows > 0,
  }
}

function extentOf({
  totals,
  lastEnd,
}: Usable): Pick<FileState, 'meters' | 'firstIntervalStart' | 'lastIntervalEnd'> {
  if (totals.rows === 0) {
    return { meters: 0, firstIntervalStart: undefined, lastIntervalEnd: undefined }
  }
  return {
    meters: totals.meters,
    firstIntervalStart: new Date(totals.firstIntervalStart * 1_000),
    lastIntervalEnd: new Date(lastEnd * 1_000),
  }
}

import { timesOf } from '../../schemas/settings/profile.js'
import { intervalEnd, intervalStart } from '../../schemas/time/read-timestamp.js'
import { isDayFormat } from '../../schemas/time/timestamp.js'
import type { PipelineContext } from '../context.js'
import { holdReads } from '../customers/held.js'
import { countForeign, foreignRows, keepOwn } from '../customers/registered.js'
import type { FileState } from '../ledger/file-state.js'
import { addCounted, type Counted, noneCounted, subtractQuantities } from '../ledger/sums.js'
import { noteEnded, noteOutranked, noteRekeyed, withOutcomes } from '../ledger/verdict.js'
import type { Store } from '../store/clickhouse.js'
import { id, type Sql, sql } from '../store/sql.js'
import { derivedOf } from '../store/staging.js'
import { repairedColumns, repairedVersion } from '../verify/repaired.js'
import { proveRows } from '../whole.js'
import { findDays, type StoredDays } from './days/find.js'
import { gridOf, type StagingTotals, sumSeries, totalShapes } from './irregular-meters.js'
import { guessedStart } from './lengths/guessed.js'
import { recordProvisional } from './lengths/provisional.js'
import { findRekeyed, mayProve, type Rekeyed } from './lengths/rekey.js'
import { type Move, repairMeters, type Unusable } from './lengths/repairs.js'
import { type FoundLengths, findLengths, rejectLengths } from './lengths/settle.js'
import { findEnded, isEnded, isMovedLater, recordEnded } from './moves/ended.js'
import { countFinal, countSurvivors, repeatsWithin } from './outcome.js'
import { compareWithStore, keepAccepted, type Overlap, type Staged } from './overlap.js'
import { toLocalStart } from './timestamps.js'

/** What is looked up of staged rows before any is left out. */
interface LookedUp {
  /** The condition of those that are not stored; undefined where there are none. */
  readonly isForeign: Sql | undefined
  /** What the store has in the days of all of them. */
  readonly days: StoredDays
}

/** Staged rows that are usable, and the table that holds them. */
export interface Usable extends Omit<FoundLengths, 'repairs'> {
  readonly table: string
  readonly totals: StagingTotals
  readonly rejected: Unusable
  /** Rows of the table whose key no later row repeats. */
  readonly survivors: number
  /** When the last interval ends, epoch seconds. */
  readonly lastEnd: number
  /** How many stored reads the file moves to accounts whose reads are not stored; undefined where it has none of those. */
  readonly ended?: number | undefined
}

/** Usable rows of which those that are not stored are left out. */
type Kept = Usable & Pick<LookedUp, 'days'> & { readonly unregistered: Counted }

/**
 * Gives every meter its real interval length and rejects what has none. `totals` are those of `whole`;
 * nothing is copied where all meters are regular.
 */
export async function settleLengths(
  context: PipelineContext,
  state: FileState,
  { totals, reland }: { readonly totals: StagingTotals; readonly reland: () => Promise<void> },
): Promise<Usable> {
  const { store, profile } = context
  const { arrival, decision, manifest } = state
  const { whole: table, fixed } = derivedOf(state)
  const staged = { arrival, decision, grid: gridOf(profile, manifest) }
  const survivors = await countSurvivors(store, staged, totals)
  const { repairs, ...found } = await findLengths(context, state, { totals })
  if (manifest.stated === true) {
    const ends = await lastStarts(store, table)
    const rejected = { ...noneCounted, meters: 0 }
    return { table, totals, rejected, ...found, survivors, lastEnd: lastOf(context, ends) }
  }
  if (repairs === 0) {
    const lastEnd = intervalEnd(totals.lastIntervalStart, manifest.seconds, context.zone)
    const rejected = { ...noneCounted, meters: 0 }
    return { table, totals, rejected, ...found, survivors, lastEnd }
  }
  const rejected = await rejectLengths(context, state, reland)
  await repairMeters(store, staged, moveOf(context, state))
  return { ...(await lookAgain(context, state, fixed)), rejected, ...found }
}

/** A timestamp at the end of an interval says when it starts once the meter's length is known. */
export function moveOf(
  { profile, zone }: PipelineContext,
  { manifest }: FileState,
): Move | undefined {
  const { seconds: taken, format } = manifest
  const { stamp } = timesOf(profile, manifest)
  if (stamp === 'start' || (format !== null && isDayFormat(format))) return undefined
  return (startsAt, { seconds, isGuessed }) => {
    const startOf = isGuessed ? guessedStart : intervalStart
    return toLocalStart(startOf(startsAt + taken, seconds, zone), { zone })
  }
}

/** What a table holds that was made of another one. */
async function lookAgain(
  context: PipelineContext,
  state: FileState,
  table: string,
): Promise<Omit<Usable, 'rejected' | keyof FoundLengths>> {
  const { arrival, decision, manifest } = state
  const ends = await lastStarts(context.store, table)
  const staged = { arrival, decision, table }
  return {
    table,
    totals: await totalShapes(context.store, staged, gridOf(context.profile, manifest)),
    survivors: await countFinal(context.store, table),
    lastEnd: lastOf(context, ends),
  }
}

interface LastStart {
  readonly seconds: number
  readonly start: number
}

/** When the last of these intervals ends, epoch seconds. */
function lastOf({ zone }: PipelineContext, ends: readonly LastStart[]): number {
  return Math.max(0, ...ends.map(({ start, seconds }) => intervalEnd(start, seconds, zone)))
}

/** The last start of each length in a staging table, epoch seconds. */
function lastStarts(store: Store, table: string): Promise<readonly LastStart[]> {
  return store.rows({
    sql: sql`SELECT seconds, toUnixTimestamp(max(starts_at)) AS start FROM ${id(table)} GROUP BY seconds`,
  })
}

/**
 * Leaves out the rows that are not stored, of meters that no registered customer has or of erased
 * accounts (decision 21), and counts them by what is left: customers register meanwhile. A file that
 * repairs another one gets the versions of that one here.
 */
export async function dropUnregistered(
  context: PipelineContext,
  state: FileState,
  usable: Usable & LookedUp,
): Promise<Kept> {
  const { table, totals } = usable
  const { table: to, ended } = await keepRegistered(context, state, usable)
  if (to === table) return { ...usable, unregistered: noneCounted }
  const kept = await lookAgain(context, state, to)
  const days = await findDays(context.store, kept.totals)
  const unregistered = {
    rows: totals.rows - kept.totals.rows,
    quantity: subtractQuantities(totals.quantity, kept.totals.quantity),
  }
  return { ...usable, ...kept, days, ended, unregistered }
}

/** The condition of the rows of a staging table that are not stored; undefined where there are none. */
export function foreignReads(
  { store, profile }: PipelineContext,
  table: string,
): Promise<Sql | undefined> {
  const columns = ['account_number', 'meter_id', 'external_site_id']
  return foreignRows(store, profile, { columns, reads: table })
}

/** The table of those rows of another one that are stored: a copy, where some are not. */
export async function keepRegistered(
  context: PipelineContext,
  state: FileState,
  of: Pick<Usable & LookedUp, 'table' | 'totals' | 'provisional' | 'isForeign'>,
): Promise<Pick<Usable, 'table' | 'ended'>> {
  const { store, profile } = context
  const { table, totals, provisional, isForeign } = of
  const isRepair = state.notes.repairs !== undefined
  const counted =
    isForeign === undefined ? [] : await store.rows<Counted>(countForeign(table, isForeign))
  const foreign = Number(counted[0]?.rows ?? 0)
  const order = state.notes.repairs ?? state.arrival
  const isPartial = profile.ingestion !== 'full'
  const isOutdone = isPartial && (await isMovedLater(store, { ...state, table, order, ...totals }))
  const isWhole = foreign === 0 && !isOutdone
  const isLeft = isForeign ?? sql`0`
  if (!isRepair) {
    if (isWhole) return { table }
    if (isPartial && foreign > 0) {
      const grid = gridOf(profile, state.manifest)
      if (provisional > 0) await store.command(recordProvisional({ ...state, grid }, table))
      await holdReads(store, table, isLeft)
    }
  }
  const { registered, counting } = derivedOf(state)
  const replaced = isRepair ? repairedColumns(state) : sql``
  const keep = async (to: string, isOther: Sql) => {
    for (const statement of keepOwn({ from: table, to }, isOther, replaced)) {
      await store.command(statement)
    }
  }
  await keep(registered, isLeft)
  await proveRows(store, registered, totals.rows - foreign)
  if (isWhole) return { table: registered }
  const version = isRepair ? repairedVersion(state) : sql`version`
  const sifted = { ...state, table, own: registered, version, order, ...totals }
  const ended = await findEnded(store, sifted)
  if (ended.rows === 0) return { table: registered, ended: ended.reads }
  await keep(counting, sql`(${isLeft} OR ${isEnded(state)})`)
  return { table: counting, ended: ended.reads }
}

const noOverlap: Overlap = {
  duplicate: noneCounted,
  superseded: noneCounted,
  restated: noneCounted,
  rewritten: noneCounted,
  covered: noneCounted,
  netQuantity: '0',
  outranked: 0,
}

/**
 * Classifies the usable rows: within the file the last row of a key survives, and
 * a survivor that the store has already, or has better, is not published again (decision 22).
 */
export async function classify(
  context: PipelineContext,
  state: FileState,
  usable: Kept,
): Promise<FileState> {
  const { store } = context
  const rekeyed = await rekey(context, state, usable)
  const rekeys = rekeyed !== undefined && rekeyed.rows > 0
  const { table, totals, survivors, days, ended = 0 } = usable
  const { firstDay, lastDay } = totals
  const repeats = survivors !== totals.rows
  const { arrival, decision, feed } = state
  const isSparse = days === 'many'
  const order = state.notes.repairs ?? arrival
  const of = { arrival, order, decision, feed, table }
  const staged: Staged = { ...of, firstDay, lastDay, repeats, isSparse, rekeys }
  const within = !repeats
    ? { duplicate: noneCounted, superseded: noneCounted }
    : await repeatsWithin(store, table)
  const overlap =
    days === 'none' && !rekeys && ended === 0 && order === arrival
      ? noOverlap
      : await compareWithStore(store, staged, context.profile)
  if (ended > 0) await store.command(recordEnded(state))
  const thins = overlap.duplicate.rows + overlap.superseded.rows > 0
  const attaches = thins ? derivedOf(state).final : table
  if (thins) {
    const grid = gridOf(context.profile, state.manifest)
    // A repair of the file asks which of its lengths nothing proved, also of rows that are not stored.
    if (usable.provisional > 0) await store.command(recordProvisional({ ...state, grid }, table))
    for (const statement of keepAccepted(staged)) await store.command(statement)
    const final = { arrival, decision, table: attaches }
    await sumSeries(store, final, grid)
  }
  const duplicate = addCounted(within.duplicate, overlap.duplicate)
  const superseded = addCounted(within.superseded, overlap.superseded)
  const { restated, rewritten, covered } = overlap
  const accepted = {
    rows: totals.rows - duplicate.rows - superseded.rows,
    quantity: subtractQuantities(totals.quantity, duplicate.quantity, superseded.quantity),
  }
  return {
    ...withOutcomes(state, { duplicate, superseded, accepted }),
    ...extentOf(usable),
    status: 'publishing',
    restated: { rows: restated.rows, netQuantity: overlap.netQuantity },
    attaches,
    restates: rekeys || ended > 0 || restated.rows + rewritten.rows + covered.rows > 0,
    notes: noteEnded(
      noteOutranked(noteRekeyed(state.notes, rekeyed), overlap.outranked),
      ended + (rekeyed?.ended ?? 0),
    ),
  }
}

/** What a file proves of stored reads: nothing, without a look at them, where it has no meter of theirs. */
async function rekey(
  context: PipelineContext,
  state: FileState,
  { table, totals, unproved, ended }: Usable,
): Promise<Rekeyed | undefined> {
  // Which meters were left out because nobody has them is not known here.
  const guessed = state.rows.unregistered > 0 ? 0 : unproved
  if (!mayProve(totals, guessed) && state.notes.repairs === undefined) return undefined
  return findRekeyed(context, { ...state, hasEnded: ended !== undefined }, table)
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

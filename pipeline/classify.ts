import { findRepairs, lengthsOf, rejectLengths } from './lengths.js'
import type { Line } from './line.js'
import type { FileState } from './stores/file-state.js'
import { type StagingTotals, totalStaging } from './stores/lengths.js'
import { countSurvivors, repeatsWithin } from './stores/outcome.js'
import {
  type Counted,
  compareWithStore,
  keepAccepted,
  type Overlap,
  type Staged,
  storeHasDays,
} from './stores/overlap.js'
import { countUnregistered, keepRegistered } from './stores/registered.js'
import { repairMeters } from './stores/repair.js'
import { stagingOf } from './stores/staging.js'
import { addQuantities, subtractQuantities } from './sums.js'

/** Staged rows that are usable, and the table that holds them. */
export interface Usable {
  readonly table: string
  readonly totals: StagingTotals
  readonly rejected: Counted
}

/**
 * Gives every meter its real interval length and rejects what has none. `totals` are those of
 * `reads`; nothing is copied where all meters are regular.
 */
export async function settleLengths(
  line: Line,
  state: FileState,
  totals: StagingTotals,
): Promise<Usable> {
  const { reads, fixed } = stagingOf(state.arrival)
  const isRegular =
    totals.oddMeters === 0 && lengthsOf(line, state).includes(state.manifest.seconds)
  const repairs = isRegular ? [] : await findRepairs(line, state)
  if (repairs.length === 0) return { table: reads, totals, rejected: none }
  const rejected = await rejectLengths(line, state, repairs)
  await repairMeters(line.store, state.arrival, repairs)
  const fixedTotals = await totalStaging(line.store, fixed, state.manifest.seconds)
  return { table: fixed, totals: fixedTotals, rejected }
}

/**
 * Leaves out the rows of meters that no registered customer has, where the profile stores only
 * registered ones (decision 21), and counts them.
 */
export async function dropUnregistered(
  line: Line,
  state: FileState,
  usable: Usable,
): Promise<Usable & { readonly unregistered: Counted }> {
  const { store, profile } = line
  if (profile.ingestion === 'full') return { ...usable, unregistered: none }
  const [found] = await store.rows<Counted>(countUnregistered(usable.table))
  const unregistered = { rows: Number(found?.rows ?? 0), quantity: found?.quantity ?? '0' }
  if (unregistered.rows === 0) return { ...usable, unregistered }
  const { registered } = stagingOf(state.arrival)
  for (const statement of keepRegistered(usable.table, registered)) await store.command(statement)
  const totals = await totalStaging(store, registered, state.manifest.seconds)
  return { ...usable, table: registered, totals, unregistered }
}

const none: Counted = { rows: 0, quantity: '0' }
const noOverlap: Overlap = {
  duplicate: none,
  superseded: none,
  restated: none,
  rewritten: none,
  netQuantity: '0',
}

/**
 * Tells apart what becomes of the usable rows: within the file the last row of a key survives, and
 * a survivor that the store has already, or has better, is not published again (decision 22).
 */
export async function classify(line: Line, state: FileState, usable: Usable): Promise<FileState> {
  const { store } = line
  const { table, totals } = usable
  const { firstDay, lastDay } = totals
  const staged: Staged = { arrival: state.arrival, table, firstDay, lastDay }
  const survivors = await countSurvivors(store, table)
  const within =
    survivors === totals.rows
      ? { duplicate: none, superseded: none }
      : await repeatsWithin(store, table)
  const overlaps = totals.rows > 0 && (await storeHasDays(store, staged))
  const overlap = overlaps ? await compareWithStore(store, staged) : noOverlap
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
    ...extentOf(line, state, totals),
    status: 'publishing',
    rows: { ...state.rows, ...rows, accepted: totals.rows - rows.duplicate - rows.superseded },
    quantity: { ...state.quantity, ...quantity, accepted: left },
    restated: { rows: overlap.restated.rows, netQuantity: overlap.netQuantity },
    attaches: thins ? stagingOf(state.arrival).final : table,
    restates: overlap.restated.rows + overlap.rewritten.rows > 0,
  }
}

function extentOf(
  line: Line,
  { manifest }: FileState,
  totals: StagingTotals,
): Pick<FileState, 'meters' | 'firstIntervalStart' | 'lastIntervalEnd'> {
  if (totals.rows === 0) {
    return { meters: 0, firstIntervalStart: undefined, lastIntervalEnd: undefined }
  }
  const { lastIntervalStart, lastDay } = totals
  const isDaily = manifest.seconds === 86_400
  const end = isDaily
    ? line.zone.dayStart(lastDay) + line.zone.daySeconds(lastDay)
    : lastIntervalStart + manifest.seconds
  return {
    meters: totals.meters,
    firstIntervalStart: new Date(totals.firstIntervalStart * 1_000),
    lastIntervalEnd: new Date(end * 1_000),
  }
}

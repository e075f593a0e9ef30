import { Fault } from '../../schemas/fault.js'
import { isSchedule, recordFeedOf } from '../../schemas/feed.js'
import { balance } from '../../schemas/receipt.js'
import { type RecordFeed, storeColumn } from '../../schemas/record-feed.js'
import type { PipelineContext } from '../context.js'
import { foreignRows } from '../customers/registered.js'
import { traceRejects } from '../formats/trace-rejects.js'
import type { LoadedFile } from '../kind.js'
import { withCommonestReject } from '../ledger/commonest-reject.js'
import { type FileState, isAhead } from '../ledger/file-state.js'
import { addCounted, subtractQuantities } from '../ledger/sums.js'
import {
  hold,
  noteEnded,
  noteOutranked,
  refuseShare,
  rejectedIn,
  withOutcomes,
  withRejected,
  withWarnings,
} from '../ledger/verdict.js'
import { derivedOf } from '../store/staging.js'
import { refuseRepair } from '../verify/repaired.js'
import { proveRows } from '../whole.js'
import { findEnds, isLeftOut, keepEnds } from './ended.js'
import {
  classifyRecords,
  countQualities,
  keepRecords,
  type RecordKind,
  type RecordOutcome,
} from './outcome.js'
import { reconcileSet } from './reconcile-set.js'
import { countMeters } from './store.js'

/** Decides what becomes of files of records whose rows add up. */
export async function reconcileRecords(
  context: PipelineContext,
  files: readonly LoadedFile[],
  ended: readonly FileState[],
): Promise<readonly FileState[]> {
  const isRepair = files.some(({ state }) => state.notes.repairs !== undefined)
  if (!isRepair && files.some(({ state }) => isSchedule(state.feed)))
    return reconcileSet(context, files, ended)
  const decided: FileState[] = []
  for (const file of files) decided.push(await reconcileFile(context, file))
  return decided
}

async function reconcileFile(
  context: PipelineContext,
  { state, origin, receipts, staged }: LoadedFile,
): Promise<FileState> {
  const { store, profile } = context
  const { arrival, decision } = state
  const feed = recordFeedOf(state.feed) as RecordFeed
  const counted = withRejected(state, rejectedIn(receipts))
  await traceRejects(context, counted)
  const tooMany = refuseShare(counted.rows, profile.usage.rejectedShareMax)
  if (tooMany !== undefined && origin?.acceptRejects !== true) {
    return withCommonestReject(store, hold(counted, tooMany))
  }
  // The rows of a schedule are of no customer.
  const isForeign =
    feed.schedule === undefined
      ? await foreignRows(store, profile, { columns: feed.columns.map(storeColumn) })
      : undefined
  const changed = await refuseRepair(context.ledger, counted)
  if (changed !== undefined) return hold(counted, changed)
  const { notes } = state
  const isRepair = notes.repairs !== undefined
  const file = { arrival, decision, notes }
  const leftOut = isForeign && isLeftOut(feed, file, isForeign)
  const found = await classifyRecords(store, feed, {
    ...{ ...file, isForeign: leftOut },
    estimates: profile.usage.estimates,
  })
  const ended = await findEnds(store, feed, { ...file, isForeign })
  const confirms = !isRepair && found.duplicate.rows > 0 && (await isAhead(store, state, profile))
  const without = withoutOf(feed, confirms)
  const left = without.reduce((rows, kind) => rows - found[kind].rows, staged.rows)
  const isCopied = left < staged.rows || isRepair
  if (isCopied) await keepRecords(store, feed, { ...file, without })
  if (ended > 0) await keepEnds(store, feed, file)
  const { final, whole } = derivedOf(state)
  const attaches = isCopied ? final : whole
  const outcome = withOutcome(counted, found)
  const ofQualities = withWarnings(outcome.notes, await countQualities(store, feed, state))
  const said = noteOutranked(noteEnded(ofQualities, ended), found.outranked.rows)
  const decided = { ...outcome, notes: said, attaches }
  const kept = left + ended
  if (!balance(decided) || (await proveRows(store, attaches, kept)) !== kept) {
    const outcomes = JSON.stringify({ rows: decided.rows, quantity: decided.quantity })
    throw new Fault('UNBALANCED', `${kept} rows would be published of ${outcomes}`)
  }
  return { ...decided, meters: await countMeters(store, feed, attaches) }
}

/**
 * A row that only repeats what is published is not published again, unless an earlier arrival is
 * still undecided: published last, it would win over what a later one has confirmed. Of a schedule,
 * which only a repair brings here, every row is published.
 */
function withoutOf({ schedule }: RecordFeed, confirms: boolean): readonly RecordKind[] {
  if (schedule !== undefined) return ['repeated']
  const kinds = ['unregistered', 'repeated', 'replaced', 'superseded', 'outranked'] as const
  return confirms ? kinds : [...kinds, 'duplicate']
}

function withOutcome(state: FileState, found: RecordOutcome): FileState {
  const { rows, quantity } = state
  const { unregistered } = found
  const duplicate = addCounted(found.repeated, found.duplicate)
  const superseded = addCounted(found.replaced, found.superseded, found.outranked)
  const others = addCounted(unregistered, duplicate, superseded)
  const accepted = {
    rows: rows.read - rows.rejected - others.rows,
    quantity: subtractQuantities(quantity.read, quantity.rejected, others.quantity),
  }
  return {
    ...withOutcomes(state, { unregistered, duplicate, superseded, accepted }),
    status: 'publishing',
    restated: {
      rows: found.restated.rows,
      netQuantity: subtractQuantities(found.restated.quantity, found.net),
    },
  }
}

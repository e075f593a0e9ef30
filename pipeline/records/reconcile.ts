import { Fault } from '../../schemas/fault.js'
import { isSchedule, recordFeedOf } from '../../schemas/feed.js'
import { balance } from '../../schemas/receipt.js'
import { type RecordFeed, storeColumn } from '../../schemas/record-feed.js'
import type { PipelineContext } from '../context.js'
import { foreignRows } from '../customers/registered.js'
import type { LoadedFile } from '../kind.js'
import type { FileState } from '../ledger/file-state.js'
import { addCounted, subtractQuantities } from '../ledger/sums.js'
import { hold, refuseShare, rejectedIn, withOutcomes, withRejected } from '../ledger/verdict.js'
import { countRows, derivedOf, stagingOf } from '../store/staging.js'
import { isAhead } from '../usage/overlap.js'
import { reconcileSet } from './reconcile-set.js'
import {
  classifyRecords,
  countMeters,
  keepRecords,
  type RecordKind,
  type RecordOutcome,
} from './store.js'

/** Decides what becomes of files of records whose rows add up. */
export async function reconcileRecords(
  context: PipelineContext,
  files: readonly LoadedFile[],
  ended: readonly FileState[],
): Promise<readonly FileState[]> {
  if (files.some(({ state }) => isSchedule(state.feed))) return reconcileSet(context, files, ended)
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
  const tooMany = refuseShare(counted.rows, profile.usage.rejectedShareMax)
  if (tooMany !== undefined && origin?.acceptRejects !== true) return hold(counted, tooMany)
  const isForeign = await foreignRows(store, profile, {
    columns: feed.columns.map(storeColumn),
  })
  const found = await classifyRecords(store, feed, { arrival, decision, isForeign })
  const confirms = found.duplicate.rows > 0 && (await isAhead(store, state, profile))
  const without = withoutOf(confirms)
  const left = without.reduce((rows, kind) => rows - found[kind].rows, staged.rows)
  if (left < staged.rows) await keepRecords(store, feed, { arrival, decision, without })
  const attaches = left < staged.rows ? derivedOf(state).final : stagingOf(arrival).reads
  const decided = { ...withOutcome(counted, found), attaches }
  if (!balance(decided) || (await countRows(store, attaches)) !== left) {
    const outcomes = JSON.stringify({ rows: decided.rows, quantity: decided.quantity })
    throw new Fault('UNBALANCED', `${left} rows would be published of ${outcomes}`)
  }
  return { ...decided, meters: await countMeters(store, feed, attaches) }
}

/**
 * A row that only repeats what is published is not published again, unless an earlier arrival is
 * still undecided: published last, it would win over what a later one has confirmed.
 */
function withoutOf(confirms: boolean): readonly RecordKind[] {
  const kinds = ['unregistered', 'repeated', 'replaced', 'superseded'] as const
  return confirms ? kinds : [...kinds, 'duplicate']
}

function withOutcome(state: FileState, found: RecordOutcome): FileState {
  const { rows, quantity } = state
  const { unregistered } = found
  const duplicate = addCounted(found.repeated, found.duplicate)
  const superseded = addCounted(found.replaced, found.superseded)
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

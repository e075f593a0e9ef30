import { Fault } from '../../schemas/fault.js'
import { balance } from '../../schemas/receipt.js'
import { timesOf } from '../../schemas/settings/profile.js'
import { datesMax } from '../../schemas/time/date-order.js'
import type { PipelineContext } from '../context.js'
import { traceRejects } from '../formats/trace-rejects.js'
import type { LoadedFile, StagedSums } from '../kind.js'
import { withCommonestReject } from '../ledger/commonest-reject.js'
import { type FileState, isRekeying, type Notes } from '../ledger/file-state.js'
import { addCounted, type Counted } from '../ledger/sums.js'
import {
  dateNotes,
  hold,
  type NotedLengths,
  noteAmbiguous,
  noteLengths,
  refuseDates,
  refuseShare,
  rejectedIn,
  withOutcomes,
  withRejected,
} from '../ledger/verdict.js'
import { id, literal, sql } from '../store/sql.js'
import { derivedOf, stagedIn } from '../store/staging.js'
import { attachEndsAgain, refuseRepair } from '../verify/repaired.js'
import { onServerOf, proveRows } from '../whole.js'
import { classify, dropUnregistered, foreignReads, settleLengths, type Usable } from './classify.js'
import { findDays } from './days/find.js'
import { takenFromStore } from './from-store.js'
import { countChanged } from './lengths/changed.js'
import { attachRekeyed } from './lengths/rekey.js'
import { attachEnded } from './moves/ended.js'
import { rejectAmbiguous } from './repeated-hour/choices.js'

/** Decides what becomes of a usage file whose rows add up. */
export async function reconcileUsage(
  context: PipelineContext,
  proved: LoadedFile,
): Promise<FileState> {
  const decided = await judgeFile(context, proved)
  await traceRejects(context, decided)
  return withCommonestReject(context.store, decided)
}

async function judgeFile(context: PipelineContext, proved: LoadedFile): Promise<FileState> {
  const { state, origin, receipts, staged, reland } = proved
  const { shapes, hour, dates } = staged as Required<StagedSums>
  const notes = {
    ...state.notes,
    ...dates,
    repeatedHourRows: hour.rows,
    ambiguousHourRows: hour.ambiguous,
  }
  const refused = rejectedIn(receipts)
  const dated = withRejected({ ...state, notes }, refused)
  const { rejectedShareMax } = context.profile.usage
  const { dateOrder } = timesOf(context.profile, state.manifest)
  const misdated = refuseDates(notes, dateOrder)
  if (misdated !== undefined) return hold(dated, misdated)
  if (hour.rejected.rows > 0) {
    await reland()
    await rejectAmbiguous(context, state)
  }
  const usable = await settleLengths(context, state, { totals: shapes, reland })
  const [lengths, isForeign, days] = await Promise.all([
    countLengths(context, state, usable),
    foreignReads(context, usable.table),
    findDays(context.store, usable.totals),
  ])
  const withLengths = { ...state, notes: noteLengths(notes, lengths) }
  const fromStore = await takenFromStore(context.store, withLengths, {
    hasLengths: usable.table !== derivedOf(state).whole,
    hasHours: hour.rows > 0,
  })
  const noted = {
    ...dated,
    notes: { ...noteAmbiguous(withLengths.notes, hour), fromStore },
  }
  const unusable = addCounted(refused, usable.rejected)
  const counted = withRejected(noted, addCounted(unusable, hour.rejected))
  const { read } = counted.rows
  const judged =
    hour.rejected.rows === read
      ? counted.rows
      : { read: read - hour.rejected.rows, rejected: unusable.rows }
  const tooMany = refuseShare(judged, rejectedShareMax)
  if (tooMany !== undefined && origin?.acceptRejects !== true) return hold(counted, tooMany)
  const changed = await refuseRepair(context.ledger, counted)
  if (changed !== undefined) return hold(counted, changed)
  const kept = await dropUnregistered(context, counted, { ...usable, isForeign, days })
  const { unregistered } = kept
  const decided = await classify(context, withOutcomes(counted, { unregistered }), kept)
  await proveOutcomes(context, decided)
  if (isRekeying(decided)) {
    await context.store.command(attachRekeyed(decided, decided.attaches))
  }
  if (decided.notes.repairs !== undefined) await context.store.command(attachEndsAgain(decided))
  if (decided.notes.ended !== undefined) await context.store.command(attachEnded(decided))
  return decided
}

async function countLengths(
  { store }: PipelineContext,
  { arrival, feed }: FileState,
  { table, totals, rejected, provisional }: Usable,
): Promise<NotedLengths> {
  const changed =
    totals.rows === 0 ? [] : await countChanged(store, { arrival, feed, table, ...totals })
  const meters = changed.reduce((sum, one) => sum + one.meters, 0)
  return { rejected: rejected.meters, changed: meters, provisional }
}

/**
 * Whatever was repaired, filtered or thinned on the way: the outcomes add up to what came in, and the
 * table that is to be attached holds the accepted rows; with those that others of the file replace, unless
 * it was made of the accepted ones alone.
 */
async function proveOutcomes({ store }: PipelineContext, state: FileState): Promise<void> {
  const { rows, quantity, attaches } = state
  const outcomes = JSON.stringify({ rows, quantity })
  if (!balance(state)) throw new Fault('UNBALANCED', `the outcomes do not add up: ${outcomes}`)
  if (attaches !== derivedOf(state).final) {
    const judged = rows.accepted + rows.duplicate + rows.superseded
    await proveRows(store, attaches, judged)
    return
  }
  const [found] = await store.rows<Counted>({
    sql: sql`SELECT count() AS rows, toString(sum(quantity)) AS quantity FROM ${id(attaches)}`,
  })
  if (Number(found?.rows) < rows.accepted) await proveRows(store, attaches, rows.accepted)
  if (Number(found?.rows) === rows.accepted && found?.quantity === quantity.accepted) return
  throw new Fault('UNBALANCED', `${JSON.stringify(found)} would be published of ${outcomes}`)
}

/**
 * The order of day and month from all timestamps of the file, which are those that are looked up
 * and those of every chunk that held others; the profile's where nothing proves it. Dates of a converted
 * file were judged as they were sent, when it was read: its rows may have instants only.
 */
export async function proveDates(context: PipelineContext, state: FileState): Promise<Notes> {
  if (state.notes.dateOrderProof !== undefined) return {}
  const rows = await context.store.rows<{ date: string }>({
    sql: sql`SELECT DISTINCT extract(text, '^[ \\t]*(\\d{1,2}/\\d{1,2}/\\d{4})(?:\\D|$)') AS date
      FROM ${stagedIn(state.arrival, ['texts', 'timestamps'])}
      WHERE date != '' AND ${onServerOf(derivedOf(state).whole)} LIMIT ${literal(datesMax)}`,
  })
  return dateNotes(
    rows.map((row) => row.date),
    {
      fileDate: state.fileDate,
      format: state.manifest.format,
      dateOrder: timesOf(context.profile, state.manifest).dateOrder,
    },
  )
}

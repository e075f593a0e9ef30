import { Fault } from '../schemas/fault.js'
import { balance } from '../schemas/receipt.js'
import { classify, dropUnregistered, settleLengths } from './classify.js'
import { logFailure, toRefusal } from './failure.js'
import { forward, loadTasks } from './forward.js'
import type { Line } from './line.js'
import { load } from './load.js'
import { publish, takeBack } from './publish.js'
import type { JobName } from './queues/jobs.js'
import { blankState, ensureLanded } from './receive.js'
import type { FileState, Notes } from './stores/file-state.js'
import type { ChunkReceipt } from './stores/ledger.js'
import type { Counted } from './stores/overlap.js'
import { resolveRepeats } from './stores/repeats.js'
import { type StagingTotals, totalShapes } from './stores/shapes.js'
import { countRows, emptyStaging, forgetRejects, stagingOf } from './stores/staging.js'
import { addQuantities } from './sums.js'
import {
  dateNotes,
  noteLengths,
  refuseDates,
  refuseShare,
  toDuplicate,
  withhold,
  withRejected,
} from './verdict.js'

const waitingMsMax = 24 * 3_600_000

/**
 * Decides the fate of a file, the only place that does: what came in, what was judged and what
 * stands in staging must agree to the row and to the unit, or nothing is published. A published
 * verdict is carried out at once; after a crash it only rolls forward.
 */
export async function reconcile(line: Line, arrival: number): Promise<void> {
  const state = await line.ledger.state(arrival)
  if (state === undefined) return
  if (state.status === 'publishing') return publish(line, state)
  if (state.status !== 'received' && !isOverdue(line, state)) return forward(line, state)
  await publishPending(line, arrival)
  const valid = await recordFirst(line, await decide(line, state), state)
  if (valid.status === 'publishing') return publish(line, valid)
  await forward(line, valid)
}

/**
 * Records a verdict unless there is one, and returns the one that holds: a reconcile whose lock has
 * run out may run a second time beside itself, and each takes tables from under the other.
 */
async function recordFirst(line: Line, decided: FileState, before: FileState): Promise<FileState> {
  const now = await line.ledger.state(decided.arrival)
  if (now !== undefined && now.status !== before.status) return now
  await line.ledger.record(decided)
  return (await line.ledger.state(decided.arrival)) ?? decided
}

/**
 * A file that was being published when its worker died comes first: its reads may be in the way.
 * Where it cannot be published the other waits, and is not blamed for it: in the end that one is
 * published or given up, and either lets the other go.
 */
async function publishPending(line: Line, arrival: number): Promise<void> {
  const { states } = await line.ledger.unfinished()
  const stuck: number[] = []
  for (const state of states) {
    if (state.status !== 'publishing' || state.arrival === arrival) continue
    if (!(await isPublished(line, state))) stuck.push(state.arrival)
  }
  if (stuck.length === 0) return
  throw new Fault('FILE_AHEAD', `arrival ${arrival} waits for arrival ${stuck.join(', ')}`)
}

/** Publishes; a failure that does not pass by itself is logged as that file's own. */
async function isPublished(line: Line, state: FileState): Promise<boolean> {
  try {
    await publish(line, state)
    return true
  } catch (error) {
    if (error instanceof Fault && error.retry) throw error
    logFailure(line.log, { job: 'reconcile', arrival: state.arrival }, error)
    return false
  }
}

function isOverdue(line: Line, state: FileState): boolean {
  return (
    state.status === 'waiting' && line.now().getTime() - state.receivedAt.getTime() > waitingMsMax
  )
}

async function decide(line: Line, state: FileState): Promise<FileState> {
  if (state.fault !== '') return withhold(state, state)
  const first = await firstOf(line, state)
  if (first !== undefined) return toDuplicate(state, first)
  try {
    return await weigh(line, state, await prove(line, state))
  } catch (error) {
    if (!(error instanceof Fault) || (error.retry && error.code !== 'SOURCE_CHANGED')) throw error
    return withhold(state, { fault: error.code, reason: error.detail })
  }
}

/**
 * The same file, where it is published: it was when this one came in, or it arrived a moment earlier
 * and was published while this one loaded.
 */
async function firstOf(line: Line, state: FileState): Promise<FileState | undefined> {
  if (state.duplicateOf !== 0) return line.ledger.state(state.duplicateOf)
  const same = await line.ledger.published(state.fileName, state.fileId)
  if (same === undefined) return undefined
  return (await line.ledger.arrival(state.arrival))?.force ? undefined : same
}

/**
 * Ends a file that could not be read, loaded or published, whatever was tried. Once it is decided
 * only the job that publishes it may say so: a load that comes late says nothing.
 */
export async function giveUp(
  line: Line,
  step: { readonly job: JobName; readonly arrival: number },
  error: unknown,
): Promise<void> {
  const arrival = await line.ledger.arrival(step.arrival)
  if (arrival === undefined) return
  const state = (await line.ledger.state(step.arrival)) ?? blankState(line, arrival)
  if (state.status === 'publishing' && step.job === 'reconcile') {
    return takeBack(line, withhold(state, toRefusal(error)))
  }
  if (state.status !== 'received') return
  const decided = withhold(state, toRefusal(error))
  await line.ledger.record(decided)
  await forward(line, decided)
}

/** What was judged and what stands in staging, in agreement with the bytes that came in. */
interface Proved {
  readonly receipts: readonly ChunkReceipt[]
  readonly staged: StagingTotals
  /** Rows of the hour that the clock repeats. */
  readonly repeated: number
}

/** Loads what has no receipt yet and proves the sums; where they do not agree, all over once more. */
async function prove(line: Line, state: FileState): Promise<Proved> {
  const first = await loadAll(line, state)
  if (imbalance(state, first) === undefined) return first
  await line.ledger.forgetReceipts(state.arrival)
  await forgetRejects(line.store, state.arrival)
  await emptyStaging(line.store, state.arrival)
  const again = await loadAll(line, state)
  const wrong = imbalance(state, again)
  if (wrong === undefined) return again
  throw new Fault('UNBALANCED', wrong)
}

async function loadAll(line: Line, state: FileState): Promise<Proved> {
  const { arrival, manifest } = state
  const { reads, repeats } = stagingOf(arrival)
  let receipts = await line.ledger.receipts(arrival)
  const done = new Set(receipts.map((one) => one.chunk))
  const missing = loadTasks(state).filter((task) => !done.has(task.chunk.chunk))
  if (missing.length > 0) {
    await ensureLanded(line, state)
    for (const task of missing) await load(line, task)
    receipts = await line.ledger.receipts(arrival)
  }
  const repeated = await countRows(line.store, repeats)
  if (repeated > 0) await line.store.command(resolveRepeats(arrival))
  return { receipts, repeated, staged: await totalShapes(line.store, reads, manifest.seconds) }
}

function imbalance(state: FileState, { receipts, staged }: Proved): string | undefined {
  const judged = sum(receipts, (receipt) => receipt.rowsRead)
  if (judged !== state.rows.read) return `${state.rows.read} rows came in, ${judged} were judged`
  const accepted = sum(receipts, (receipt) => receipt.rowsAccepted)
  if (accepted !== staged.rows) {
    return `${accepted} rows were accepted, ${staged.rows} stand in staging`
  }
  const energy = addQuantities(
    staged.quantity,
    ...receipts.map((receipt) => receipt.quantityRejected),
  )
  if (energy !== state.quantity.read) {
    return `a quantity of ${state.quantity.read} came in, ${energy} was judged`
  }
  return undefined
}

function sum(receipts: readonly ChunkReceipt[], pick: (receipt: ChunkReceipt) => number): number {
  return receipts.reduce((total, receipt) => total + pick(receipt), 0)
}

async function weigh(line: Line, state: FileState, proved: Proved): Promise<FileState> {
  const { receipts, staged, repeated } = proved
  const notes = { ...state.notes, ...(await proveDates(line, state)), repeatedHourRows: repeated }
  const refused = sum(receipts, (receipt) => receipt.rowsRejected)
  const dated = withRejected(
    { ...state, notes },
    {
      rows: refused,
      quantity: addQuantities(...receipts.map((receipt) => receipt.quantityRejected)),
    },
  )
  const { dateOrder, rejectedShareMax } = line.profile.usage
  const misdated = refuseDates(notes, dateOrder)
  if (misdated !== undefined) return withhold(dated, misdated)
  const usable = await settleLengths(line, state, staged)
  const rejected = refused + usable.rejected.rows
  const told = { ...dated, notes: noteLengths(notes, usable.rejected.meters) }
  const counted = withRejected(told, {
    rows: rejected,
    quantity: addQuantities(dated.quantity.rejected, usable.rejected.quantity),
  })
  const tooMany = refuseShare(counted.rows, rejectedShareMax)
  if (tooMany !== undefined) return withhold(counted, tooMany)
  const kept = await dropUnregistered(line, counted, usable)
  const decided = await classify(line, withUnregistered(counted, kept.unregistered), kept)
  await proveOutcomes(line, decided)
  return decided
}

/**
 * Whatever was repaired, filtered or thinned on the way: the outcomes add up to what came in, and a
 * table that was made of the accepted rows holds them.
 */
async function proveOutcomes({ store }: Line, state: FileState): Promise<void> {
  const { rows, quantity, attaches } = state
  const outcomes = JSON.stringify({ rows, quantity })
  if (!balance(state)) throw new Fault('UNBALANCED', `the outcomes do not add up: ${outcomes}`)
  if (attaches !== stagingOf(state.arrival).final) return
  const [found] = await store.rows<Counted>({
    sql: `SELECT count() AS rows, toString(sum(quantity)) AS quantity FROM ${attaches}`,
  })
  if (Number(found?.rows) === rows.accepted && found?.quantity === quantity.accepted) return
  throw new Fault('UNBALANCED', `${JSON.stringify(found)} would be published of ${outcomes}`)
}

function withUnregistered(state: FileState, { rows, quantity }: Counted): FileState {
  return {
    ...state,
    rows: { ...state.rows, unregistered: rows },
    quantity: { ...state.quantity, unregistered: quantity },
  }
}

/**
 * The order of day and month from all timestamps of the file, which are those that are looked up
 * and those of every chunk that held others; the profile's where nothing proves it.
 */
async function proveDates(line: Line, state: FileState): Promise<Notes> {
  const { texts, stamps } = stagingOf(state.arrival)
  const rows = await line.store.rows<{ date: string }>({
    sql: `SELECT DISTINCT extract(text, '^[ \\t]*(\\d{1,2}/\\d{1,2}/\\d{4})(?:\\D|$)') AS date
      FROM (SELECT text FROM ${texts} UNION ALL SELECT text FROM ${stamps})
      WHERE date != '' LIMIT ${datesMax}`,
  })
  return dateNotes(
    rows.map((row) => row.date),
    {
      fileDate: state.fileDate,
      format: state.manifest.format,
      dateOrder: line.profile.usage.dateOrder,
    },
  )
}

/** Different dates that are looked at: more than a hundred years of them. */
const datesMax = 40_000

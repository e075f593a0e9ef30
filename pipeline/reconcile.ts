import { Fault } from '../schemas/fault.js'
import { isSchedule } from '../schemas/feed.js'
import { forward, loadTasks } from './forward.js'
import { kindOf, type Proved } from './kind.js'
import type { Line } from './line.js'
import { publish } from './publish.js'
import { blankState, ensureLanded } from './receive.js'
import type { FileState } from './stores/file-state.js'
import { forgetRejects } from './stores/staging.js'
import { addQuantities } from './sums.js'
import { membersOf } from './together.js'
import { type Refusal, sumReceipts, unjudged } from './verdict.js'

const waitingMsMax = 24 * 3_600_000

/**
 * Decides the fate of a file, the only place that does: what came in, what was judged and what
 * stands in staging must agree to the row and to the unit, or nothing is published. A published
 * verdict is carried out at once; after a crash it only rolls forward.
 */
export async function reconcile(line: Line, arrival: number): Promise<void> {
  await publishPending(line, arrival)
  const state = await line.ledger.state(arrival)
  if (state === undefined) return
  const members = await membersOf(line, state)
  if (state.status === 'publishing') return publish(line, members.filter(isPublishing))
  if (state.status !== 'received' && !isOverdue(line, state)) return forward(line, state)
  if (members.length === 0) return
  const decided = await decide(line, members)
  await line.ledger.record(...decided)
  const publishing = decided.filter(isPublishing)
  if (publishing.length > 0) await publish(line, publishing)
  for (const one of decided) if (!isPublishing(one)) await forward(line, one)
}

function isPublishing({ status }: FileState): boolean {
  return status === 'publishing'
}

/**
 * A file that was being published when its worker died comes first: its reads may be in the way.
 * Where it cannot be published the other waits, and is not blamed for it.
 */
async function publishPending(line: Line, arrival: number): Promise<void> {
  const { states } = await line.ledger.unfinished()
  const stuck: number[] = []
  for (const state of states) {
    if (!isPublishing(state) || state.arrival === arrival) continue
    if (!(await isPublished(line, state))) stuck.push(state.arrival)
  }
  if (stuck.length === 0) return
  throw new Fault('FILE_AHEAD', `arrival ${arrival} waits for arrival ${stuck.join(', ')}`)
}

/** Publishes; a failure that does not pass by itself is logged as that file's own. */
async function isPublished(line: Line, state: FileState): Promise<boolean> {
  try {
    await publish(line, (await membersOf(line, state)).filter(isPublishing))
    return true
  } catch (error) {
    if (error instanceof Fault && error.retry) throw error
    const ids = { job: 'reconcile', arrival: state.arrival }
    if (error instanceof Fault) line.log.warn({ ...ids, code: error.code }, error.detail)
    else line.log.error({ ...ids, err: error }, 'a file could not be published')
    return false
  }
}

function isOverdue(line: Line, state: FileState): boolean {
  return (
    state.status === 'waiting' && line.now().getTime() - state.receivedAt.getTime() > waitingMsMax
  )
}

/** What becomes of files that are judged together: those that have ended, and those that add up. */
async function decide(line: Line, members: readonly FileState[]): Promise<readonly FileState[]> {
  const ended: FileState[] = []
  const proved: Proved[] = []
  for (const state of members) {
    const found = await examine(line, state)
    if ('staged' in found) proved.push(found)
    else ended.push(found)
  }
  const [first] = proved
  if (first === undefined) return ended
  try {
    return [...ended, ...(await kindOf(first.state).weigh(line, proved, ended))]
  } catch (error) {
    const refusal = toRefusal(error)
    return [...ended, ...proved.map(({ state }) => unjudged(state, refusal))]
  }
}

/** A file as it has ended by itself, or the proof that its rows add up. */
async function examine(line: Line, state: FileState): Promise<FileState | Proved> {
  if (state.duplicateOf !== 0) return { ...state, status: 'duplicate' }
  if (state.fault !== '') return unjudged(state, state)
  const first = await publishedMeanwhile(line, state)
  if (first !== undefined) return { ...state, status: 'duplicate', duplicateOf: first.arrival }
  try {
    return await prove(line, state)
  } catch (error) {
    return unjudged(state, toRefusal(error))
  }
}

/** Why a file is refused; what may pass by itself, and what is no fault, is thrown again. */
function toRefusal(error: unknown): Refusal {
  if (!(error instanceof Fault) || (error.retry && error.code !== 'SOURCE_CHANGED')) throw error
  return { fault: error.code, reason: error.detail }
}

/** The same file, where it arrived a moment earlier and was published while this one loaded. */
async function publishedMeanwhile(line: Line, state: FileState): Promise<FileState | undefined> {
  if (isSchedule(state.feed)) return undefined
  const same = await line.ledger.published(state.fileName, state.fileId)
  if (same === undefined) return undefined
  return (await line.ledger.arrival(state.arrival))?.force ? undefined : same
}

/** Ends a file that could not be loaded, or not even be read, whatever was tried. */
export async function giveUp(line: Line, number: number, error: unknown): Promise<void> {
  const arrival = await line.ledger.arrival(number)
  if (arrival === undefined) return
  const state = (await line.ledger.state(number)) ?? blankState(line, arrival)
  if (state.status !== 'received') return
  const fault = error instanceof Fault ? error : undefined
  const decided = unjudged(state, {
    fault: fault?.code ?? 'ATTEMPTS',
    reason: fault?.detail ?? 'loading failed again and again; the log tells how',
  })
  await line.ledger.record(decided)
  await forward(line, decided)
}

/** Loads what has no receipt yet and proves the sums; where they do not agree, all over once more. */
async function prove(line: Line, state: FileState): Promise<Proved> {
  const kind = kindOf(state)
  const first = await loadAll(line, state)
  if (imbalance(first) === undefined) return first
  await line.ledger.forgetReceipts(state.arrival)
  await forgetRejects(line.store, state.arrival)
  await kind.emptyStaging(line.store, state)
  const again = await loadAll(line, state)
  const wrong = imbalance(again)
  if (wrong === undefined) return again
  throw new Fault('UNBALANCED', wrong)
}

async function loadAll(line: Line, state: FileState): Promise<Proved> {
  const kind = kindOf(state)
  let receipts = await line.ledger.receipts(state.arrival)
  const done = new Set(receipts.map((one) => one.chunk))
  const missing = loadTasks(state).filter((task) => !done.has(task.chunk.chunk))
  if (missing.length > 0) {
    await ensureLanded(line, state)
    for (const task of missing) await kind.load(line, task)
    receipts = await line.ledger.receipts(state.arrival)
  }
  return { state, receipts, staged: await kind.sumStaged(line, state) }
}

function imbalance({ state, receipts, staged }: Proved): string | undefined {
  const judged = sumReceipts(receipts, 'rowsRead')
  if (judged !== state.rows.read) return `${state.rows.read} rows came in, ${judged} were judged`
  const accepted = sumReceipts(receipts, 'rowsAccepted')
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

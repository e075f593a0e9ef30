import { randomInt } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { Fault } from '../../schemas/fault.js'
import type { PipelineContext } from '../context.js'
import { chunkPath, isAsWritten, lookAtChunk } from '../files/landing.js'
import type { LoadedFile, LoadTask } from '../kind.js'
import { kindOf } from '../kinds.js'
import { type FileState, isDecided } from '../ledger/file-state.js'
import type { Ledger } from '../ledger/ledger.js'
import { addQuantities } from '../ledger/sums.js'
import { sumReceipts } from '../ledger/verdict.js'
import { dropDerived, forgetRejects, nameServer } from '../store/staging.js'
import { isStagingLost } from '../whole.js'
import { loadTasks } from './forward.js'
import { ensureLanded } from './receive.js'

/**
 * Loads one chunk into the staging table of its file. Repeating a load changes nothing: good
 * rows are inserted under tokens, the receipt says what the engine has stored, and is written
 * last; the verdict counts the whole file. Then the chunk is deleted: a missing chunk was loaded, or
 * `reconcile` lands the file again, as it does where a chunk was altered after it landed.
 */
export async function load(context: PipelineContext, task: LoadTask): Promise<void> {
  const path = chunkPath(context.folders.landing, task)
  const found = (await isAsWritten(path, task.chunk))
    ? 'intact'
    : await lookAtChunk(path, task.chunk)
  if (found === 'altered') {
    const { arrival, chunk } = task
    context.log.warn({ arrival, chunk: chunk.chunk }, 'a chunk was altered on disk and lands again')
    await rm(path, { force: true })
  }
  if (found !== 'intact') return
  try {
    await context.ledger.recordReceipt(task.arrival, await kindOf(task).load(context, task))
  } catch (error) {
    if (isStagingLost(error)) await startAgain(context, task)
    // If the same load runs twice, the first to end deletes the chunk and the other one fails.
    if (await isThere(path, task)) throw error
  }
  await rm(path, { force: true })
}

/**
 * Forgets what was loaded into staging that is gone; `reconcile` loads what has no receipt. A file that
 * another worker has decided on meanwhile keeps what its receipt says.
 */
async function startAgain({ store, ledger }: PipelineContext, task: LoadTask): Promise<void> {
  if (await hasEnded(ledger, task.arrival)) return
  await ledger.forgetReceipts(task.arrival)
  await kindOf(task).createStaging(store, task)
}

async function hasEnded(ledger: Ledger, arrival: number): Promise<boolean> {
  const state = await ledger.state(arrival)
  return state !== undefined && isDecided(state)
}

async function isThere(path: string, { chunk }: LoadTask): Promise<boolean> {
  const landed = await stat(path).catch(() => undefined)
  return landed?.size === chunk.bytes
}

const loadsMax = 3

/** The id of a new decision. */
export function drawDecision(): number {
  return randomInt(1, 2 ** 47)
}

/**
 * Loads what has no receipt yet and compares the sums. If they differ, or staging is gone, it loads
 * everything again into empty staging. Only the same difference after two such loads refuses the file.
 * Staging is on one server: where another one answers meanwhile, and be it a single insert, the sums
 * show nothing. Each load after the first has a decision of its own: what was built before, perhaps on another
 * server, must not have the name of what is published. Nothing is forgotten of a file that another worker has decided on meanwhile: `STAGING_LOST`.
 */
export async function loadAndBalance(
  context: PipelineContext,
  state: FileState,
): Promise<LoadedFile> {
  const { store, ledger } = context
  const kind = kindOf(state)
  let emptiedAt = ''
  let before: string | undefined
  for (let loads = 1; ; loads++) {
    const own = loads === 1 ? state : { ...state, decision: drawDecision() }
    const found = await loadAll(context, own).catch((error: unknown) => {
      if (isStagingLost(error) && loads < loadsMax) return undefined
      throw error
    })
    const wrong = found === undefined ? undefined : imbalance(found)
    if (found !== undefined && wrong === undefined) return found
    const isSame = emptiedAt !== '' && (await nameServer(store)) === emptiedAt
    if (wrong !== undefined && isSame && wrong === before) throw new Fault('UNBALANCED', wrong)
    before = isSame ? wrong : undefined
    if (loads === loadsMax) throw new Fault('STAGING_LOST', `of arrival ${state.arrival}: ${wrong}`)
    if (await hasEnded(ledger, state.arrival))
      throw new Fault('STAGING_LOST', `arrival ${state.arrival} was decided on meanwhile`)
    await ledger.forgetReceipts(state.arrival)
    await forgetRejects(store, state.arrival)
    const server = await nameServer(store)
    await kind.emptyStaging(store, state)
    await dropDerived(store, own)
    emptiedAt = (await nameServer(store)) === server ? server : ''
  }
}

async function loadAll(context: PipelineContext, state: FileState): Promise<LoadedFile> {
  const kind = kindOf(state)
  let receipts = await context.ledger.receipts(state.arrival)
  const done = new Set(receipts.map((one) => one.chunk))
  const missing = loadTasks(state).filter((task) => !done.has(task.chunk.chunk))
  if (missing.length > 0) {
    await ensureLanded(context, state)
    for (const task of missing) await load(context, task)
    receipts = await context.ledger.receipts(state.arrival)
  }
  const [origin, staged] = await Promise.all([
    context.ledger.arrival(state.arrival),
    kind.sumStaged(context, state),
  ])
  return { state, origin, receipts, staged, reland: () => ensureLanded(context, state) }
}

function imbalance({ state, receipts, staged }: LoadedFile): string | undefined {
  const judged = sumReceipts(receipts, 'rowsRead')
  if (judged !== state.rows.read) return `${state.rows.read} rows came in, ${judged} were judged`
  const accepted = sumReceipts(receipts, 'rowsAccepted')
  if (accepted !== staged.rows) {
    return `${accepted} rows were accepted, ${staged.rows} are in staging`
  }
  const controlTotal = addQuantities(
    staged.quantity,
    ...receipts.map((receipt) => receipt.quantityRejected),
  )
  if (controlTotal !== state.quantity.read) {
    return `a quantity of ${state.quantity.read} came in, ${controlTotal} was judged`
  }
  return undefined
}

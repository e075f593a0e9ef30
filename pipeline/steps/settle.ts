import { copyFile, rm, writeFile } from 'node:fs/promises'
import type { PipelineContext } from '../context.js'
import { landedFolder } from '../files/landing.js'
import { kindOf } from '../kinds.js'
import { type FileState, isGroup } from '../ledger/file-state.js'
import type { Arrival } from '../ledger/ledger.js'
import { arrivalPaths, latestPaths } from '../ledger/outbox.js'
import { toReceipt } from '../ledger/receipt.js'
import { writeRejects } from '../ledger/rejects-files.js'
import { withWarnings } from '../ledger/verdict.js'
import { letPass } from '../queues/wait.js'
import { attempt, makeFolderOf, writeWhole } from '../sources/disk.js'
import { dropStaging } from '../store/staging.js'
import { queueClaim } from './forward.js'

/**
 * Writes receipt and rejects, lets the source put the file away, and drops chunks and staging. This
 * acknowledges the file, so it is the last step: all that the receipt says is durable by then. Files of
 * a group are settled one after the other; one that fails holds none of the others up.
 */
export async function settle(context: PipelineContext, number: number): Promise<void> {
  const { ledger } = context
  const found = isGroup(number) ? await ledger.grouped(number) : await ledger.states([number])
  const open = found.filter(({ settledAt }) => settledAt === undefined)
  if (open.length === 0) return
  const numbers = open.map(({ arrival }) => arrival)
  const [learned, origins] = await Promise.all([learn(context, open), ledger.arrivals(numbers)])
  const settled: FileState[] = []
  const failures: unknown[] = []
  for (const state of learned) {
    const origin = origins.find(({ arrival }) => arrival === state.arrival)
    try {
      settled.push(await putAway(context, state, origin))
    } catch (error) {
      failures.push(error)
    }
  }
  if (settled.length > 0) await ledger.record(...settled)
  for (const state of settled) notifyPerson(context, state)
  if (failures.length > 0) throw failures[0]
  await dropStaging(context.store, number)
}

async function putAway(
  context: PipelineContext,
  state: FileState,
  origin: Arrival | undefined,
): Promise<FileState> {
  const { arrival, status } = state
  const settled = { ...state, settledAt: context.now() }
  const receipt = `${JSON.stringify(await receiptOf(context, settled), null, 2)}\n`
  const rejectsPath = await handOut(context, state, receipt)
  const source = context.sources.get(state.source)
  if (origin !== undefined && source !== undefined) {
    const outcome = status === 'published' || status === 'duplicate' ? status : 'quarantined'
    await source.settle(origin, { outcome, receipt, rejectsPath })
  }
  await rm(landedFolder(context.folders.landing, arrival), { recursive: true, force: true })
  return settled
}

/** What is learned of published files comes before their other warnings. */
async function learn(
  context: PipelineContext,
  states: readonly FileState[],
): Promise<readonly FileState[]> {
  const published = states.filter(({ status }) => status === 'published')
  const [first] = published
  if (first === undefined) return states
  const learned = await kindOf(first).learn(context, published)
  await queueClaim(context).catch(letPass)
  return states.map((state) => {
    const warning = learned.get(state.arrival)
    if (warning === undefined) return state
    context.log.warn({ arrival: state.arrival, file: state.fileName }, warning)
    context.notify(`${state.fileName}: ${warning}`)
    const { warnings = [], ...notes } = state.notes
    return { ...state, notes: withWarnings(notes, [warning, ...warnings]) }
  })
}

function notifyPerson(
  context: PipelineContext,
  { arrival, fileName, status, fault, reason, rows }: FileState,
): void {
  const { read, accepted, rejected } = rows
  const fields = { arrival, file: fileName, status, read, accepted, rejected }
  if (status === 'quarantined') {
    context.log.warn({ ...fields, code: fault }, 'a file is quarantined')
    context.notify(`${fileName} is quarantined: ${fault}: ${reason}`)
  } else context.log.info(fields, 'a file has ended')
}

async function receiptOf(context: PipelineContext, state: FileState) {
  const first = state.duplicateOf === 0 ? undefined : await context.ledger.state(state.duplicateOf)
  return toReceipt(state, first)
}

/**
 * Writes receipt and rejects under the number of the arrival, then the same under the file's name,
 * where the latest arrival of the name is found. Returns the path of the rejects, if any.
 */
async function handOut(
  context: PipelineContext,
  state: FileState,
  receipt: string,
): Promise<string | undefined> {
  const { outbox } = context.folders
  const own = arrivalPaths(outbox, state)
  const latest = latestPaths(outbox, state)
  await makeFolderOf(own.receipt)
  // Two arrivals of one name may be settled at the same time: each has a part of its own.
  const put = (path: string, write: (part: string) => Promise<void>) =>
    writeWhole(path, write, `${path}.${state.arrival}.part`)
  const isTold = state.status !== 'duplicate'
  const hasRejects = isTold && state.rows.rejected > 0
  if (hasRejects) {
    await put(own.rejects, (part) => writeRejects(context.store, state, part))
    await put(latest.rejects, (part) => copyFile(own.rejects, part))
  } else if (isTold) {
    await attempt(latest.rejects, () => rm(latest.rejects, { force: true }))
  }
  for (const path of [own.receipt, latest.receipt]) {
    await put(path, (part) => writeFile(part, receipt))
  }
  return hasRejects ? own.rejects : undefined
}

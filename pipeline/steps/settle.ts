import { copyFile, rm, writeFile } from 'node:fs/promises'
import type { PipelineContext } from '../context.js'
import { landedFolder } from '../files/landing.js'
import { kindOf } from '../kinds.js'
import { type FileState, isDecided, isGroup } from '../ledger/file-state.js'
import type { Arrival } from '../ledger/ledger.js'
import { arrivalPaths, latestPaths } from '../ledger/outbox.js'
import { toReceipt } from '../ledger/receipt.js'
import { writeRejects } from '../ledger/rejects-files.js'
import { withWarnings } from '../ledger/verdict.js'
import { letPass } from '../queues/wait.js'
import { attempt, makeFolderOf, writeWhole } from '../sources/disk.js'
import { literal, sql } from '../store/sql.js'
import { dropStagingOf } from '../store/staging.js'
import { isRepair } from '../verify/repaired.js'
import { queueClaim } from './forward.js'

/**
 * Writes receipt and rejects, lets the source put the file away, and drops chunks and staging. This
 * acknowledges the file, so it is the last step: all that the receipt says is durable by then. Files of
 * a group are settled one after the other; one that fails holds none of the others up. A file without a
 * verdict, or whose verdict is being carried out, is left alone.
 */
export async function settle(context: PipelineContext, number: number): Promise<void> {
  const { ledger, store } = context
  const [found, origins] = await lookUp(context, number)
  const open = found.filter(({ settledAt }) => settledAt === undefined)
  const [first] = open
  if (first === undefined || open.some((one) => !isDecided(one))) return
  const [learned, outdated] = await Promise.all([learn(context, open), findOutdated(context, open)])
  const settled: FileState[] = []
  const failures: unknown[] = []
  for (const state of learned) {
    const origin = origins.find(({ arrival }) => arrival === state.arrival)
    try {
      const isLatest = !outdated.has(state.arrival)
      settled.push(await putAway(context, state, { origin, isLatest }))
    } catch (error) {
      failures.push(error)
    }
  }
  await Promise.all([
    settled.length > 0 && ledger.record(...settled),
    failures.length === 0 && dropStagingOf(store, { arrival: number, decision: first.decision }),
  ])
  for (const state of settled) notifyPerson(context, state)
  if (settled.some(isPublished)) await kindOf(first).derive(context).catch(letPass)
  if (failures.length > 0) throw failures[0]
}

function isPublished({ status }: FileState): boolean {
  return status === 'published'
}

async function lookUp(
  { ledger }: PipelineContext,
  number: number,
): Promise<readonly [readonly FileState[], readonly Arrival[]]> {
  if (!isGroup(number)) return Promise.all([ledger.states([number]), ledger.arrivals([number])])
  const states = await ledger.grouped(number)
  return [states, await ledger.arrivals(states.map(({ arrival }) => arrival))]
}

async function putAway(
  context: PipelineContext,
  state: FileState,
  { origin, isLatest }: { readonly origin: Arrival | undefined; readonly isLatest: boolean },
): Promise<FileState> {
  const { arrival, status } = state
  const settled = { ...state, settledAt: context.now() }
  const receipt = `${JSON.stringify(await receiptOf(context, settled), null, 2)}\n`
  const rejectsPath = await handOut(context, state, { receipt, isLatest })
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
  const published = states.filter(isPublished)
  const [first] = published
  if (first === undefined) return states
  const { warnings: learned, hasRenewed } = await kindOf(first).learn(context, published)
  if (hasRenewed) await queueClaim(context).catch(letPass)
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
 * Writes receipt and rejects under the number of the arrival, then the same under the file's name, unless a
 * later arrival of the name has put its own there. Returns the path of the rejects, if any.
 */
async function handOut(
  context: PipelineContext,
  state: FileState,
  { receipt, isLatest }: { readonly receipt: string; readonly isLatest: boolean },
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
  if (hasRejects) await put(own.rejects, (part) => writeRejects(context.store, state, part))
  await put(own.receipt, (part) => writeFile(part, receipt))
  const rejectsPath = hasRejects ? own.rejects : undefined
  if (!isLatest) return rejectsPath
  if (hasRejects) await put(latest.rejects, (part) => copyFile(own.rejects, part))
  else if (isTold) await attempt(latest.rejects, () => rm(latest.rejects, { force: true }))
  await put(latest.receipt, (part) => writeFile(part, receipt))
  return rejectsPath
}

/** Those of some files of whose name a later arrival is settled; a repair is not the latest of its name. */
async function findOutdated(
  { store }: PipelineContext,
  files: readonly FileState[],
): Promise<ReadonlySet<number>> {
  const names = files.map(({ fileName }) => fileName)
  const rows = await store.rows<{ name: string; latest: number }>({
    sql: sql`SELECT file_name AS name, toUInt32(max(arrival)) AS latest FROM file_state FINAL
      WHERE arrival > ${Math.min(...files.map(({ arrival }) => arrival))} AND file_name IN ${literal(names)}
        AND settled_at IS NOT NULL AND status != 'replaced' AND NOT ${isRepair} GROUP BY name`,
  })
  const latest = new Map(rows.map((row) => [row.name, row.latest]))
  const outdated = files.filter(({ fileName, arrival, notes }) => {
    return notes.repairs !== undefined || (latest.get(fileName) ?? 0) > arrival
  })
  return new Set(outdated.map(({ arrival }) => arrival))
}

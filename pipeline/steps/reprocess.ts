import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault, type FaultCode } from '../../schemas/fault.js'
import { isSchedule } from '../../schemas/feed.js'
import { keptName } from '../../schemas/file-name.js'
import type { Folders, PipelineContext } from '../context.js'
import { type Actor, readActsOn, recordAct } from '../ledger/audit.js'
import type { FileState } from '../ledger/file-state.js'
import type { Arrival, Ledger } from '../ledger/ledger.js'
import type { Queues } from '../queues/bullmq.js'
import { letPass } from '../queues/wait.js'
import { attempt, ifThere } from '../sources/disk.js'
import { submitted } from '../sources/folder.js'
import type { Store } from '../store/clickhouse.js'
import { sql } from '../store/sql.js'
import { begin } from './forward.js'

/** The source of reprocessed files. */
export const quarantineSource = 'quarantine'

/**
 * What may be done with a quarantined file. retry: judge it again, after the profile was fixed or
 * customers were registered. accept: judge it again and publish its good rows, however many are
 * rejected.
 */
export const reprocessActs = ['retry', 'accept'] as const
export type ReprocessAct = (typeof reprocessActs)[number]

export interface ReprocessContext {
  readonly store: Store
  readonly ledger: Ledger
  readonly queues: Pick<Queues, 'add'>
  readonly folders: Pick<Folders, 'quarantine'>
}

/** An order, and the arrival that was claimed for it, if any. */
export interface Reprocessed {
  readonly act: ReprocessAct
  readonly arrival: number | undefined
}

/**
 * Orders that a quarantined file is reprocessed. The entry of the audit log is the order: it is
 * carried out once, by the job that is queued here or by one that the sweep queues. Throws
 * `FILE_STATE` with the reason if the file cannot be reprocessed.
 */
export async function orderReprocess(
  context: ReprocessContext,
  actor: Actor,
  { arrival, act }: { readonly arrival: number; readonly act: ReprocessAct },
): Promise<void> {
  const state = await context.ledger.state(arrival)
  if (state === undefined) throw new Fault('FILE_STATE', `there is no file with arrival ${arrival}`)
  const obstacle = await findObstacle(context, state, act)
  if (obstacle !== undefined) throw new Fault('FILE_STATE', obstacle)
  const detail = `${state.fileName}: ${state.fault}`
  await recordAct(context.store, actor, { act, subject: String(arrival), detail })
  await context.queues.add('reprocess', { v: 1, arrival }).catch(letPass)
}

/** Why a file cannot be reprocessed; undefined if it can. */
export async function findObstacle(
  { store, ledger, folders }: Omit<ReprocessContext, 'queues'>,
  state: FileState,
  act: ReprocessAct,
): Promise<string | undefined> {
  const { arrival, fileName, status, settledAt, fault } = state
  if (status !== 'quarantined')
    return `${fileName} is ${status}; only quarantined files can be retried or accepted`
  if (settledAt === undefined) return `${fileName} is being put away; try again in a moment`
  const earlier = await reprocessed({ store, ledger }, arrival)
  const later = earlier?.arrival === undefined ? await laterOf(store, state) : undefined
  if (later !== undefined) return replacedBy(later, fileName)
  if (earlier !== undefined) {
    const since = earlier.arrival === undefined ? 'soon' : `as arrival ${earlier.arrival}`
    return `${fileName} is reprocessed already (${earlier.act}) and comes in again ${since}`
  }
  if (act === 'accept' && (fault !== 'TOO_MANY_REJECTED' || isSchedule(state.feed))) {
    return `${fileName} is quarantined for ${fault}, not for the number of its rejected rows; fix the cause, then retry it`
  }
  const path = keptAt(folders, state)
  const found = await attempt(path, () => ifThere(stat(path)))
  if (found !== undefined) return undefined
  // Its bytes were never read: they are still where it came from.
  if (fault === ('SOURCE_REMOVED' satisfies FaultCode)) return state.reason
  return `${path} is not there any more; send the file again`
}

/** The order to reprocess a file, if there is one. */
export async function reprocessed(
  { store, ledger }: Pick<ReprocessContext, 'store' | 'ledger'>,
  arrival: number,
): Promise<Reprocessed | undefined> {
  const [order] = await readActsOn(store, { acts: reprocessActs, subject: String(arrival) })
  if (order === undefined) return undefined
  const claimed = await ledger.claimedAs(claimOf(arrival))
  return { act: order.act as ReprocessAct, arrival: claimed?.arrival }
}

/** Why an order will not be carried out any more; undefined if it will. */
export async function findReplacement(
  { store, ledger }: Pick<ReprocessContext, 'store' | 'ledger'>,
  arrival: number,
): Promise<string | undefined> {
  const state = await ledger.state(arrival)
  const later = state && (await laterOf(store, state))
  return state && later?.isPublished ? replacedBy(later, state.fileName) : undefined
}

/**
 * Carries an order out: claims an arrival for the kept bytes under the id of the order, so that a
 * repeated call finds it. If the bytes are gone, the arrival is quarantined for it. If a newer file of
 * the name arrived since the order, nothing is claimed while it is under way or published.
 */
export async function reprocess(context: PipelineContext, arrival: number): Promise<void> {
  const [order] = await readActsOn(context.store, { acts: reprocessActs, subject: String(arrival) })
  const state = await context.ledger.state(arrival)
  if (order === undefined || state === undefined) return
  const known = await context.ledger.claimedAs(claimOf(arrival))
  const claimed = known ?? (await claimAgain(context, state, order.act === 'accept'))
  if (claimed !== undefined) await begin(context, claimed)
}

async function claimAgain(
  context: PipelineContext,
  state: FileState,
  acceptRejects: boolean,
): Promise<Arrival | undefined> {
  const path = keptAt(context.folders, state)
  const found = await attempt(path, () => ifThere(stat(path)))
  const isSubmitted = state.source === submitted
  const first = await context.ledger.arrival(state.arrival)
  const entry = {
    source: isSubmitted ? submitted : quarantineSource,
    name: state.fileName,
    path,
    machine: first?.machine ?? '',
    bytes: found?.size ?? state.bytes,
    modifiedMs: Math.trunc(found?.mtimeMs ?? 0),
    wholeBy: first?.wholeBy ?? '',
    force: first?.force ?? false,
    repairs: first?.repairs ?? 0,
    acceptRejects,
  }
  const isReplaced = async () => (await laterOf(context.store, state)) !== undefined
  return context.ledger.claimUnless(entry, isReplaced, claimOf(state.arrival))
}

/** Queues orders without an arrival, the latest first: their job was lost, or a newer file arrived. */
export async function queueReprocessing(context: PipelineContext): Promise<void> {
  const rows = await context.store.rows<{ subject: string }>({
    sql: sql`SELECT subject FROM (${reprocessActsOpen})
      GROUP BY subject ORDER BY max(number) DESC LIMIT 100`,
  })
  for (const { subject } of rows)
    await context.queues.add('reprocess', { v: 1, arrival: Number(subject) })
}

const claimPrefix = 'reprocess-'

/** What people have asked for and nobody has begun. */
export const reprocessActsOpen = sql`SELECT subject, number FROM audit_log WHERE act IN ${reprocessActs}
  AND concat(${claimPrefix}, subject) NOT IN (SELECT claim FROM arrival)`

function claimOf(arrival: number): string {
  return `${claimPrefix}${arrival}`
}

/** The quarantined arrival that another one was claimed to reprocess; undefined if it was not. */
export async function reprocessedBy(store: Store, arrival: number): Promise<number | undefined> {
  const [row] = await store.rows<{ first: number }>({
    sql: sql`SELECT toUInt32(substring(claim, ${claimPrefix.length + 1})) AS first FROM arrival
      WHERE arrival = ${arrival} AND startsWith(claim, ${claimPrefix})`,
  })
  return row?.first
}

/** The path of a quarantined file: a submitted one stays where it is. */
function keptAt({ quarantine }: Pick<Folders, 'quarantine'>, file: FileState): string {
  if (file.source === submitted) return file.path
  return join(quarantine, keptName(file.arrival, file.fileName))
}

/** A newer file of the same name that is published, or may be yet; a repair brings older bytes back. */
interface Later {
  readonly arrival: number
  readonly isPublished: boolean
}

function replacedBy({ arrival, isPublished }: Later, fileName: string): string {
  return isPublished
    ? `${fileName} was published since as arrival ${arrival}; this older state would replace it`
    : `${fileName} has come in since as arrival ${arrival}, which is under way; wait for its receipt`
}

async function laterOf(store: Store, { arrival, fileName }: FileState): Promise<Later | undefined> {
  const [later] = await store.rows<Later>({
    sql: sql`SELECT a.arrival AS arrival, s.status = 'published' AS isPublished
      FROM (SELECT arrival FROM arrival
        WHERE arrival > ${arrival} AND name = ${fileName} AND repairs = 0) AS a
      LEFT JOIN (
        SELECT arrival, toString(status) AS status FROM file_state FINAL
        WHERE arrival > ${arrival} AND file_name = ${fileName}
      ) AS s ON s.arrival = a.arrival
      WHERE s.status NOT IN ('quarantined', 'duplicate', 'replaced')
      ORDER BY isPublished DESC, arrival LIMIT 1`,
  })
  return later && { ...later, isPublished: Boolean(later.isPublished) }
}

import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { forgetRuns } from '../bills/forget.js'
import type { PipelineContext } from '../context.js'
import { forgetHeld } from '../customers/held.js'
import { logFailure } from '../failure.js'
import { isGroup } from '../ledger/file-state.js'
import { forgetHealed } from '../ledger/healed.js'
import { arrivalsFolder } from '../ledger/outbox.js'
import { attempt, ifThere, listNames } from '../sources/disk.js'
import { batchesOf } from '../store/batches.js'
import { deleteFrom } from '../store/replicas.js'
import { literal, sql } from '../store/sql.js'
import { dropStaging, stagedArrivals } from '../store/staging.js'
import { eraseDue, eraseStarted } from './erase.js'

const dayMs = 86_400_000

/**
 * Deletes what the profile's `retention` no longer keeps in the store (decision 32): rejected rows,
 * abandoned staging, replaced bills, and what healed more than a week ago. Terminated accounts are
 * erased by its run at night, which rewrites whole tables and reads others (decision 30); every other
 * run only continues what that left. A step that fails keeps no other from its work.
 */
export async function retain(
  context: PipelineContext,
  { night = false }: { readonly night?: boolean | undefined } = {},
): Promise<void> {
  const { store, profile } = context
  const { rejectsDays, stagingDays, billRuns: runsKept } = profile.retention
  const heldBefore = daysBefore(context, profile.usage.holdDays).getTime()
  await runEach(context, [
    () => forgetRejects(context, daysBefore(context, rejectsDays)),
    () => dropDeadStaging(context, daysBefore(context, stagingDays)),
    () => forgetRuns(store, { runsKept, now: context.now() }),
    () => forgetHeld(store, heldBefore),
    async () => night && forgetHealed(store, context.now()),
    () => (night ? eraseDue(context) : eraseStarted(context)),
  ])
}

/**
 * The same on the disk of one machine: files in the archive and the quarantine, receipts and rejects in
 * the outbox, and parts of uploads.
 */
export async function retainMachine(context: PipelineContext): Promise<void> {
  const { archive, quarantine, outbox, uploads } = context.folders
  const { archiveDays, rejectsDays, stagingDays } = context.profile.retention
  const ends = /\.(receipt\.json|rejects\.csv)(\.\d+\.part)?$/
  await runEach(context, [
    ...[archive, quarantine].map(
      (folder) => () => removeEnded(context, folder, daysBefore(context, archiveDays)),
    ),
    ...[outbox, join(outbox, arrivalsFolder)].map(
      (folder) => () => removeWritten(folder, daysBefore(context, rejectsDays), ends),
    ),
    () => removeWritten(uploads, daysBefore(context, stagingDays), /\.part$/),
  ])
}

/** Runs every step, then throws the first failure; the others are only logged. */
async function runEach(
  { log }: PipelineContext,
  steps: readonly (() => Promise<unknown>)[],
): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps) await step().catch((error: unknown) => failures.push(error))
  if (failures.length === 0) return
  for (const other of failures.slice(1)) logFailure(log, { job: 'retain' }, other)
  throw failures[0]
}

function daysBefore({ now }: PipelineContext, days: number): Date {
  return new Date(now().getTime() - days * dayMs)
}

/** Arrivals of one statement; the engine reads 262,144 characters at most. */
const arrivalsMax = 10_000

async function forgetRejects({ store }: PipelineContext, before: Date): Promise<void> {
  const old = sql`arrival IN (SELECT arrival FROM file_state FINAL
    WHERE settled_at < fromUnixTimestamp64Milli(${before.getTime()}))`
  const found = await store.rows<{ arrival: number }>({
    sql: sql`SELECT DISTINCT arrival FROM reject WHERE ${old} ORDER BY arrival`,
  })
  for (const batch of batchesOf(found, arrivalsMax)) {
    const arrivals = literal(batch.map(({ arrival }) => arrival))
    await deleteFrom(store, 'reject', sql`arrival IN ${arrivals}`)
  }
}

/** Drops staging of long unfinished arrivals; it is built again if they resume. */
async function dropDeadStaging({ store, ledger }: PipelineContext, before: Date): Promise<void> {
  for (const arrival of await stagedArrivals(store)) {
    if (isGroup(arrival)) continue
    const found = await ledger.arrival(arrival)
    const state = await ledger.state(arrival)
    if (state?.status === 'publishing' || state?.status === 'received') continue
    if (found === undefined || found.arrivedAt < before) await dropStaging(store, arrival)
  }
}

/** Removes files named after an arrival, by when it was settled: their own time is the sender's. */
async function removeEnded(
  { store }: PipelineContext,
  folder: string,
  before: Date,
): Promise<void> {
  const numbered = (await listNames(folder)).flatMap((name) => {
    const number = /^(\d+)-/.exec(name)?.[1]
    return number === undefined ? [] : [{ name, arrival: Number(number) }]
  })
  if (numbered.length === 0) return
  const first = numbered.reduce((least, { arrival }) => Math.min(least, arrival), 2 ** 32)
  const rows = await store.rows<{ arrival: number }>({
    sql: sql`SELECT arrival FROM file_state FINAL WHERE arrival >= ${first}
      AND settled_at < fromUnixTimestamp64Milli(${before.getTime()})`,
  })
  const due = new Set(rows.map(({ arrival }) => arrival))
  for (const { name, arrival } of numbered) if (due.has(arrival)) await remove(join(folder, name))
}

/** Removes files that were written here, by their own time. */
async function removeWritten(folder: string, before: Date, names: RegExp): Promise<void> {
  for (const name of await listNames(folder)) {
    const path = join(folder, name)
    if (!names.test(name)) continue
    const found = await attempt(path, () => ifThere(stat(path)))
    if (found !== undefined && found.mtime < before) await remove(path)
  }
}

function remove(path: string): Promise<void> {
  return attempt(path, () => rm(path, { force: true }))
}

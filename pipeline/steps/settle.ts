import { createWriteStream } from 'node:fs'
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { PipelineContext } from '../context.js'
import { landedFolder } from '../files/landing.js'
import { kindOf } from '../kinds.js'
import type { FileState } from '../ledger/file-state.js'
import { arrivalPaths, latestPaths } from '../ledger/outbox.js'
import { toReceipt } from '../ledger/receipt.js'
import { attempt } from '../sources/disk.js'
import { sql } from '../store/sql.js'
import { dropStaging } from '../store/staging.js'

/**
 * Hands out receipt and rejects, lets the source put the file away and drops what loading needed:
 * the acknowledgement, last of all, when everything that it says has long been durable.
 */
export async function settle(context: PipelineContext, arrival: number): Promise<void> {
  const state = await context.ledger.state(arrival)
  if (state === undefined || state.settledAt !== undefined) return
  if (state.status === 'published') await kindOf(state).learn(context, state)
  const origin = await context.ledger.arrival(arrival)
  const settledAt = context.now()
  const receipt = `${JSON.stringify(await receiptOf(context, { ...state, settledAt }), null, 2)}\n`
  const rejectsPath = await handOut(context, state, receipt)
  const source = context.sources.get(state.source)
  if (origin !== undefined && source !== undefined) {
    const { status } = state
    const outcome = status === 'published' || status === 'duplicate' ? status : 'quarantined'
    await source.settle(origin, { outcome, receipt, rejectsPath })
  }
  await rm(landedFolder(context.folders.landing, arrival), { recursive: true, force: true })
  await context.ledger.record({ ...state, settledAt })
  tell(context, state)
  await dropStaging(context.store, arrival)
}

/** One line for each file that has ended; the receipt has the reason in words. */
function tell(
  context: PipelineContext,
  { arrival, fileName, status, fault, reason, rows }: FileState,
): void {
  const { read, accepted, rejected } = rows
  const fields = { arrival, file: fileName, status, read, accepted, rejected }
  if (status === 'quarantined') {
    context.log.warn({ ...fields, code: fault }, 'a file is quarantined')
    context.tell(`${fileName} is quarantined: ${fault}: ${reason}`)
  } else context.log.info(fields, 'a file has ended')
}

/** The receipt of a file; that of a duplicate names the first file. */
async function receiptOf(context: PipelineContext, state: FileState) {
  const first = state.duplicateOf === 0 ? undefined : await context.ledger.state(state.duplicateOf)
  return toReceipt(state, first)
}

/**
 * Writes receipt and rejects under the number of the arrival, then the same under the file's name,
 * where the latest arrival of the name is found. Returns the path of the rejects, if there are some.
 */
async function handOut(
  context: PipelineContext,
  state: FileState,
  receipt: string,
): Promise<string | undefined> {
  const { outbox } = context.folders
  const own = arrivalPaths(outbox, state)
  const latest = latestPaths(outbox, state)
  const folder = dirname(own.receipt)
  await attempt(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  const isTold = state.status !== 'duplicate'
  const hasRejects = isTold && state.rows.rejected > 0
  if (hasRejects) {
    await writeWhole(own.rejects, state, (part) => writeRejects(context, state, part))
    await writeWhole(latest.rejects, state, (part) => copyFile(own.rejects, part))
  } else if (isTold) {
    await attempt(latest.rejects, () => rm(latest.rejects, { force: true }))
  }
  for (const path of [own.receipt, latest.receipt]) {
    await writeWhole(path, state, (part) => writeFile(part, receipt))
  }
  return hasRejects ? own.rejects : undefined
}

/** Two arrivals of one name may be settled at the same time: each has a part of its own. */
async function writeWhole(
  path: string,
  { arrival }: FileState,
  write: (part: string) => Promise<void>,
): Promise<void> {
  const part = `${path}.${arrival}.part`
  await attempt(path, async () => {
    await write(part)
    await rename(part, path)
  })
}

async function writeRejects(
  context: PipelineContext,
  { arrival }: FileState,
  path: string,
): Promise<void> {
  const rows = await context.store.stream(
    {
      sql: sql`SELECT line AS Line, column_name AS Column, code AS Code, detail AS Detail, raw AS Row
        FROM reject FINAL WHERE arrival = ${arrival} ORDER BY line`,
    },
    'CSVWithNames',
  )
  await pipeline(rows, createWriteStream(path))
}

import { rm, stat } from 'node:fs/promises'
import { Fault } from '../../schemas/fault.js'
import type { PipelineContext } from '../context.js'
import { chunkPath } from '../files/landing.js'
import type { LoadTask } from '../kind.js'
import { kindOf } from '../kinds.js'

/**
 * Loads one chunk into the staging table of its file. Repeating a load changes nothing: good
 * rows are inserted under tokens, accepted rows are counted in the store, and the receipt is written
 * last. Then the chunk is deleted: a missing chunk was loaded, or `reconcile` lands the file again.
 */
export async function load(context: PipelineContext, task: LoadTask): Promise<void> {
  const path = chunkPath(context.folders.landing, task)
  if (!(await isThere(path, task))) return
  try {
    await context.ledger.recordReceipt(task.arrival, await kindOf(task).load(context, task))
  } catch (error) {
    if (isStagingLost(error)) await startAgain(context, task)
    // If the same load runs twice, the first to end deletes the chunk and the other one fails.
    if (await isThere(path, task)) throw error
  }
  await rm(path, { force: true })
}

/** Whether rows that were loaded are on a server that does not answer any more. */
export function isStagingLost(error: unknown): boolean {
  return error instanceof Fault && error.code === 'STAGING_LOST'
}

/** Forgets what was loaded into staging that is gone; `reconcile` loads what has no receipt. */
async function startAgain({ store, ledger }: PipelineContext, task: LoadTask): Promise<void> {
  await ledger.forgetReceipts(task.arrival)
  await kindOf(task).createStaging(store, task)
}

async function isThere(path: string, { chunk }: LoadTask): Promise<boolean> {
  const landed = await stat(path).catch(() => undefined)
  return landed?.size === chunk.bytes
}

import { rm, stat } from 'node:fs/promises'
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
    // If the same load runs twice, the first to end deletes the chunk and the other one fails.
    if (await isThere(path, task)) throw error
  }
  await rm(path, { force: true })
}

async function isThere(path: string, { chunk }: LoadTask): Promise<boolean> {
  const landed = await stat(path).catch(() => undefined)
  return landed?.size === chunk.bytes
}

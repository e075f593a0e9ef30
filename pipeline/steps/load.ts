import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { PipelineContext } from '../context.js'
import { chunkName, landedFolder } from '../files/landing.js'
import type { LoadTask } from '../kind.js'
import { kindOf } from '../kinds.js'

/**
 * Loads one chunk into the staging table of its file. Repeating a load changes nothing: each insert
 * carries a token, and the receipt, written last, is counted in the store. Then the chunk leaves the
 * landing: one that is not there was loaded, or is left to `reconcile`, which lands the file again.
 */
export async function load(context: PipelineContext, task: LoadTask): Promise<void> {
  const path = join(
    landedFolder(context.folders.landing, task.arrival),
    chunkName(task.chunk.chunk),
  )
  if (!(await isThere(path, task))) return
  try {
    await context.ledger.recordReceipt(task.arrival, await kindOf(task).load(context, task))
  } catch (error) {
    // The same load may run twice: the other one has ended, and this one failed for want of bytes.
    if (await isThere(path, task)) throw error
  }
  await rm(path, { force: true })
}

async function isThere(path: string, { chunk }: LoadTask): Promise<boolean> {
  const landed = await stat(path).catch(() => undefined)
  return landed?.size === chunk.bytes
}

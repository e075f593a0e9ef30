import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { formatQuantity } from '../schemas/quantity.js'
import { chunkName, landedFolder } from './landing.js'
import type { Line } from './line.js'
import type { LoadTask } from './load-task.js'
import { judgeOddRows } from './odd-rows.js'
import { loadPlainRows, loadUnseenRows } from './plain-rows.js'
import type { ChunkReceipt } from './stores/ledger.js'
import type { Counted } from './stores/overlap.js'
import { countLines } from './stores/staging.js'

/**
 * Loads one chunk into the staging table of its file. The engine stores the plainly good rows in
 * one statement, in a second one those with timestamps that the bytes had not shown; what it leaves
 * is judged row by row. Repeating a load changes nothing: each insert carries a token, and the
 * receipt, written last, is counted in the store. Then the chunk leaves the
 * landing: one that is not there was loaded, or is left to `reconcile`, which lands the file again.
 */
export async function load(line: Line, task: LoadTask): Promise<void> {
  const path = join(landedFolder(line.folders.landing, task.arrival), chunkName(task.chunk.chunk))
  if (!(await isThere(path, task))) return
  try {
    await line.ledger.recordReceipt(task.arrival, await judge(line, task))
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

/** Brings the good rows of a chunk into staging and writes down the others. */
async function judge(line: Line, task: LoadTask): Promise<ChunkReceipt> {
  const { chunk } = task
  const reader = await loadPlainRows(line, task)
  let plain = await count(line, task)
  if (plain.rows < chunk.rows && reader !== undefined) {
    if (await loadUnseenRows(line, task, reader)) plain = await count(line, task)
  }
  const odd = plain.rows === chunk.rows ? undefined : await judgeOddRows(line, task, reader)
  const stored = odd === undefined || odd.accepted === 0 ? plain : await count(line, task)
  return {
    chunk: chunk.chunk,
    rowsRead: stored.rows + (odd?.rejected ?? 0),
    rowsAccepted: stored.rows,
    rowsRejected: odd?.rejected ?? 0,
    quantityAccepted: stored.quantity,
    quantityRejected: formatQuantity(odd?.rejectedMicros ?? 0n),
  }
}

async function count(line: Line, { arrival, chunk }: LoadTask): Promise<Counted> {
  const statement = countLines(arrival, chunk.line, chunk.lines)
  const [counted] = await line.store.rows<{ rows: string; quantity: string }>(statement)
  return { rows: Number(counted?.rows ?? 0), quantity: counted?.quantity ?? '0' }
}

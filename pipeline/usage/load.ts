import { formatQuantity } from '../../schemas/quantity.js'
import type { PipelineContext } from '../context.js'
import type { ChunkReceipt } from '../ledger/ledger.js'
import type { LoadTask } from '../load-task.js'
import { countLines } from '../store/staging.js'
import { loadPlainRows, loadUnseenRows } from './bulk-path.js'
import type { Counted } from './overlap.js'
import { judgeOddRows } from './row-path.js'

/**
 * Brings the good rows of a chunk into staging and writes down the others. The engine stores the
 * plainly good rows in one statement, in a second one those with timestamps that the bytes had not
 * shown; what it leaves is judged row by row.
 */
export async function loadUsage(context: PipelineContext, task: LoadTask): Promise<ChunkReceipt> {
  const { chunk } = task
  const reader = await loadPlainRows(context, task)
  let plain = await count(context, task)
  if (plain.rows < chunk.rows && reader !== undefined) {
    if (await loadUnseenRows(context, task, reader)) plain = await count(context, task)
  }
  const odd = plain.rows === chunk.rows ? undefined : await judgeOddRows(context, task, reader)
  const stored = odd === undefined || odd.accepted === 0 ? plain : await count(context, task)
  return {
    chunk: chunk.chunk,
    rowsRead: stored.rows + (odd?.rejected ?? 0),
    rowsAccepted: stored.rows,
    rowsRejected: odd?.rejected ?? 0,
    quantityAccepted: stored.quantity,
    quantityRejected: formatQuantity(odd?.rejectedMicros ?? 0n),
  }
}

async function count(context: PipelineContext, { arrival, chunk }: LoadTask): Promise<Counted> {
  const statement = countLines(arrival, chunk.line, chunk.lines)
  const [counted] = await context.store.rows<{ rows: string; quantity: string }>(statement)
  return { rows: Number(counted?.rows ?? 0), quantity: counted?.quantity ?? '0' }
}

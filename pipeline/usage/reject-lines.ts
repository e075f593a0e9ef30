import { readFile } from 'node:fs/promises'
import type { RejectCode } from '../../schemas/usage-row.js'
import type { PipelineContext } from '../context.js'
import { chunkPath } from '../files/landing.js'
import { type RawRow, splitRows } from '../files/rows.js'
import type { FileState } from '../ledger/file-state.js'
import { toMicros } from '../ledger/sums.js'
import { toRejectRow } from './row-path.js'

/** A staged row that turned out not to be usable, for its timestamp. */
export interface RejectedLine {
  /** Physical line of the file. */
  readonly line: number
  readonly code: RejectCode
  readonly detail: string
  /** Decimal string, as sent. */
  readonly quantity: string
}

/** Rows that are looked at together; their texts are in memory. */
const batchRows = 50_000

/**
 * Writes down the rows of a landed file that `find` returns for `lines` physical lines from `line` on,
 * in any order. Repeating it changes nothing.
 */
export async function rejectLines(
  { store, folders }: PipelineContext,
  { arrival, manifest }: FileState,
  find: (line: number, lines: number) => Promise<readonly RejectedLine[]>,
): Promise<void> {
  const reject = async (rows: readonly RawRow[]) => {
    const first = rows[0]?.line ?? 0
    const found = await find(first, (rows.at(-1)?.line ?? 0) - first + 1)
    const rejected = new Map(found.map((one) => [one.line, one]))
    const rejects = rows.flatMap((row) => {
      const one = rejected.get(row.line)
      if (one === undefined) return []
      const { code, detail, quantity } = one
      const micros = toMicros(quantity)
      return [toRejectRow(arrival, row, { column: 'TimeStamp', code, detail, micros })]
    })
    if (rejects.length > 0) await store.insert('reject', rejects)
  }
  for (const chunk of manifest.chunks) {
    const rows: RawRow[] = []
    const bytes = await readFile(chunkPath(folders.landing, { arrival, chunk }))
    for (const row of splitRows(bytes, chunk.line)) {
      if (rows.push(row) === batchRows) await reject(rows.splice(0))
    }
    if (rows.length > 0) await reject(rows)
  }
}

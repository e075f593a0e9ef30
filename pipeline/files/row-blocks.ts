import { proveText, rowLength } from './landing.js'
import { cutPoint, lastRow } from './rows.js'

/** Complete rows of a file; the bytes are valid until the next block is read. */
export interface RowBlock {
  readonly bytes: Buffer
  /** Physical line of the first row. */
  readonly line: number
  /** The last row of the file if it has no line end. */
  readonly unendedRow: string | undefined
}

const newline = 10

/**
 * Cuts the bytes after the header at row ends, where the landing cuts them, without storing them.
 * Throws `ENCODING` for bytes that are not text and `ROW_LENGTH` for a row without an end.
 */
export async function* cutRowBlocks(
  input: AsyncIterable<Buffer>,
  chunkBytes: number,
): AsyncGenerator<RowBlock> {
  const filling = Buffer.allocUnsafeSlow(chunkBytes)
  let used = 0
  let line = 2
  for await (const bytes of input) {
    for (let at = 0; at < bytes.length; ) {
      const part = Math.min(filling.length - used, bytes.length - at)
      bytes.copy(filling, used, at, at + part)
      used += part
      at += part
      if (used < filling.length) continue
      const cut = cutPoint(filling)
      if (cut === 0) throw rowLength(line, chunkBytes)
      const piece = filling.subarray(0, cut)
      proveText(piece, line)
      yield { bytes: piece, line, unendedRow: undefined }
      line += lineEnds(piece)
      filling.copyWithin(0, cut, used)
      used -= cut
    }
  }
  if (used === 0) return
  const rest = filling.subarray(0, used)
  proveText(rest, line)
  const unendedRow = rest[used - 1] === newline ? undefined : lastRow(rest)
  yield { bytes: rest, line, unendedRow }
}

function lineEnds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(newline); at !== -1; at = bytes.indexOf(newline, at + 1)) count++
  return count
}

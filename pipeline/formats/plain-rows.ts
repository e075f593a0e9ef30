import { Fault } from '../../schemas/fault.js'
import type { Conversion, SentRecord } from './format.js'

/** Physical line of the first row that `plainRows` yields: it has no header. */
export const firstPlainLine = 1

/** How many lines of the plain rows a record takes: one without reads is a blank line. */
export function plainLinesOf({ count }: SentRecord): number {
  return Math.max(1, count)
}

/**
 * A file as rows of the plain layout without a header, in memory of one buffer. Where the sender's last
 * line has no line end, the last row has none. Throws `EMPTY_FILE` for a file without bytes.
 */
export async function* plainRows(
  { records, ending }: Conversion,
  input: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let held = ''
  let hasBytes = false
  async function* seen(): AsyncGenerator<Buffer> {
    for await (const bytes of input) {
      hasBytes ||= bytes.length > 0
      yield bytes
    }
  }
  for await (const batch of records(seen())) {
    if (held !== '') yield Buffer.from(held)
    held = batch.map(({ rows }) => rows || '\n').join('')
  }
  if (!hasBytes) throw new Fault('EMPTY_FILE', 'the file is empty; export it again')
  if (ending().isUnended) held = held.slice(0, -1)
  if (held !== '') yield Buffer.from(held)
}

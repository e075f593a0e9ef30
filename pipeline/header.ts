import { Fault } from '../schemas/fault.js'
import { parseRow } from './csv.js'

/** Proves the header and yields what follows it. */
export async function* afterHeader(
  input: AsyncGenerator<Buffer>,
  columns: readonly string[],
  rowBytesMax: number,
): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const bytes of input) {
    if (head === undefined) {
      yield bytes
      continue
    }
    head = Buffer.concat([head, bytes])
    const end = head.indexOf(10)
    if (end === -1 && head.length <= rowBytesMax) continue
    proveHeader(head.toString('utf8', 0, end === -1 ? rowBytesMax : end), columns)
    yield head.subarray(end + 1)
    head = undefined
  }
  if (head === undefined) return
  if (head.length === 0) throw new Fault('EMPTY_FILE', 'the file holds no bytes; export it again')
  proveHeader(head.toString('utf8'), columns)
}

/**
 * Refuses a file whose first line is not the feed's header. Names are compared without case and
 * surrounding blanks, in order.
 */
export function proveHeader(line: string, columns: readonly string[]): void {
  const found = parseRow(line.replace(/^\uFEFF/, '').replace(/\r$/, ''))
  const same =
    found?.length === columns.length &&
    columns.every((column, at) => found[at]?.trim().toLowerCase() === column.toLowerCase())
  if (same) return
  throw new Fault(
    'HEADER',
    `expected ${columns.join(',')}, found ${printable(line)}; send it with these columns`,
  )
}

const shownMax = 120

/** Where the header is missing a row stands in its place, whose numbers are nobody's business. */
function printable(text: string): string {
  const shown = text
    .slice(0, shownMax)
    .replace(/[^\x20-\x7E]/g, '?')
    .replace(/\d+/g, '#')
  return text.length > shownMax ? `${shown}... (${text.length} characters)` : shown || 'nothing'
}

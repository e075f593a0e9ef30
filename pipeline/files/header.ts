import { Fault } from '../../schemas/fault.js'
import { type MatchedHeader, matchHeader } from '../../schemas/record-feed.js'
import { parseRow } from './csv.js'

/** The columns of a feed's header, and those that are optional. */
export interface Header {
  readonly columns: readonly string[]
  readonly bracketed?: readonly string[]
}

/** Columns behind those of a feed, at most. */
const extraColumnsMax = 100

export type ExtraColumns = 'refuse' | 'ignore'

export interface HeaderOptions {
  readonly feed: Header
  readonly rowBytesMax: number
  readonly extraColumns: ExtraColumns
  /** Called with the columns of the file before any of its rows. */
  readonly onHeader: (columns: MatchedHeader) => void
}

/** Verifies the header and yields what follows it. */
export async function* afterHeader(
  input: AsyncGenerator<Buffer>,
  { feed, rowBytesMax, extraColumns, onHeader }: HeaderOptions,
): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const bytes of input) {
    if (head === undefined) {
      yield bytes
      continue
    }
    head = Buffer.concat([head, bytes])
    refuseUtf16(head)
    const end = head.indexOf(10)
    if (end === -1 && head.length <= rowBytesMax) continue
    const line = head.toString('utf8', 0, end === -1 ? rowBytesMax : end)
    onHeader(proveHeader(line, feed, extraColumns))
    yield head.subarray(end + 1)
    head = undefined
  }
  if (head === undefined) return
  if (head.length === 0) throw new Fault('EMPTY_FILE', 'the file is empty; export it again')
  onHeader(proveHeader(head.toString('utf8'), feed, extraColumns))
}

function refuseUtf16(head: Buffer): void {
  if (utf16Of(head) === undefined) return
  throw new Fault('ENCODING', 'the file is UTF-16; export it as UTF-8 text')
}

/** Which UTF-16 the first bytes are, by a byte order mark or by a NUL beside each letter; mostly undefined. */
export function utf16Of(head: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  const [first, second] = head
  const isBare = (odd: 0 | 1) => head.length > 3 && isEvery(head, odd)
  if ((first === 0xff && second === 0xfe) || isBare(1)) return 'utf-16le'
  return (first === 0xfe && second === 0xff) || isBare(0) ? 'utf-16be' : undefined
}

/** Whether the first bytes are NUL at even or at odd places, and text at the others. */
function isEvery(head: Buffer, odd: 0 | 1): boolean {
  return [0, 2].every((at) => head[at + odd] === 0 && head[at + 1 - odd] !== 0)
}

/** What spreadsheets write where others write commas. */
const otherSeparators = [
  { mark: ';', named: 'semicolons' },
  { mark: '\t', named: 'tabs' },
  { mark: '|', named: 'bars' },
]

/**
 * The columns that the first line of a file names. Names are compared without case and surrounding
 * blanks, in order; a file whose first line is not the feed's header is refused. Columns behind those
 * of the feed are ignored only where `extraColumns` says so.
 */
export function proveHeader(
  line: string,
  feed: Header,
  extraColumns: ExtraColumns = 'refuse',
): MatchedHeader {
  const text = line.replace(/^\uFEFF/, '').replace(/\r$/, '')
  const read = (row: string) => {
    const found = parseRow(row)
    return found && matchHeader(feed, found)
  }
  const matched = read(text)
  const extraMax = extraColumns === 'ignore' ? extraColumnsMax : 0
  if (matched !== undefined && matched.extra.length <= extraMax) {
    return { ...matched, extra: matched.extra.map(visible) }
  }
  const separator = matched
    ? undefined
    : otherSeparators.find(({ mark }) => read(text.replaceAll(mark, ',')))
  if (separator !== undefined) {
    const detail = `its columns are separated by ${separator.named}; separate them with commas`
    throw new Fault('HEADER', detail)
  }
  const remedy = matched
    ? 'leave out the others, or set files.extraColumns: ignore'
    : 'send it with these columns'
  throw new Fault('HEADER', `expected ${spell(feed)}, found ${printable(line)}; ${remedy}`)
}

/** What a receipt says of columns that are ignored. */
export function extraWarnings(extra: MatchedHeader['extra']): readonly string[] {
  if (extra.length === 0) return []
  const names = extra.map((name) => JSON.stringify(visible(name))).join(', ')
  return [`columns ignored (files.extraColumns): ${names}`]
}

/** The columns that no file may leave out. */
export function shortestHeader({ columns, bracketed = [] }: Header): string {
  return columns.filter((column) => !bracketed.includes(column)).join(',')
}

function spell(header: Header): string {
  const { bracketed = [] } = header
  const kept = shortestHeader(header)
  return bracketed.length === 0 ? kept : `${kept} and optionally ${bracketed.join(',')}`
}

function visible(text: string): string {
  return text.slice(0, shownMax).replace(/[^\x20-\x7E]/g, '?')
}

const shownMax = 120

/** Without a header this is a row, whose numbers may be personal data. */
function printable(text: string): string {
  const shown = visible(text).replace(/\d+/g, '#')
  return text.length > shownMax ? `${shown}... (${text.length} characters)` : shown || 'nothing'
}

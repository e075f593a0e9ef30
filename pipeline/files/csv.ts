import { parse } from 'fast-csv'

const options = { headers: false }
/**
 * White space that fast-csv would skip around quotes, where only blanks and tabs may be, and the
 * character that replaces it meanwhile.
 */
const otherSpace = /[^\S \t\r\n]|\uE000/g
const replacement = '\uE000'
const quote = 34
const comma = 44
/** What may follow the quote that ends a column, apart from the next comma. */
const afterQuote = ' \t\r\n'
const notPlain = /^[ \t]|["\r\n]/

/** The highest `limits.rowBytesMax`: a longer row is rejected, whatever its columns hold. */
export const rowCharactersMax = 1_048_576

/**
 * The columns of one row by RFC 4180; undefined where its quotes do not make one row of it. Longer
 * rows than any profile accepts are not parsed: fast-csv needs some 25 bytes for each character.
 */
export function parseRow(raw: string): readonly string[] | undefined {
  if (raw.length > rowCharactersMax) return undefined
  if (!raw.includes('"')) return raw.split(',')
  const plain = splitPlain(raw)
  if (plain !== undefined) return plain === 'broken' ? undefined : plain
  const kept = raw.match(otherSpace) ?? []
  let restored = 0
  return parseByLibrary(raw.replace(otherSpace, replacement))?.map((column) =>
    column.replaceAll(replacement, () => kept[restored++] as string),
  )
}

/**
 * Why a row cannot be parsed: a carriage return inside it, without which its quotes match, or its
 * quotes.
 */
export function unreadableCode(raw: string): 'BAD_QUOTES' | 'CONTROL_CHARACTER' {
  const without = raw.replace(/\r(?!\n|$)/g, '')
  const isReturn = without !== raw && parseRow(without) !== undefined
  return isReturn ? 'CONTROL_CHARACTER' : 'BAD_QUOTES'
}

/**
 * The stream of fast-csv returns the first row of what is written, and the last row when it ends,
 * before the call returns; rows between them only later. So each row has a stream of its own.
 */
function parseByLibrary(row: string): readonly string[] | undefined {
  const stream = parse(options).on('error', () => undefined)
  stream.write(row)
  const isSeveral = stream.read() !== null
  if (isSeveral) return undefined
  stream.end()
  return stream.read() ?? undefined
}

/**
 * The columns of a row with quotes only at both ends of a column or doubled within, as nearly all
 * have them; undefined for one that needs fast-csv, which takes a hundred times as long.
 */
function splitPlain(raw: string): readonly string[] | 'broken' | undefined {
  const columns: string[] = []
  for (let at = 0; ; at++) {
    const isQuoted = raw.charCodeAt(at) === quote
    const from = isQuoted ? at + 1 : at
    let to = raw.indexOf(isQuoted ? '"' : ',', from)
    while (isQuoted && to !== -1 && raw.charCodeAt(to + 1) === quote) to = raw.indexOf('"', to + 2)
    if (isQuoted && to === -1) return 'broken'
    if (to === -1) to = raw.length
    const column = raw.slice(from, to)
    if (!isQuoted && notPlain.test(column)) return undefined
    columns.push(isQuoted ? column.replaceAll('""', '"') : column)
    at = isQuoted ? to + 1 : to
    if (at === raw.length) return columns
    if (raw.charCodeAt(at) !== comma) {
      return afterQuote.includes(raw[at] as string) ? undefined : 'broken'
    }
  }
}

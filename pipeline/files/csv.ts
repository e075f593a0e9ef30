import { ParserOptions } from '@fast-csv/parse'
import { Parser } from '@fast-csv/parse/build/src/parser/index.js'

const options = new ParserOptions({ headers: false, trim: false, ignoreEmpty: false })
/** Around quotes blanks and tabs are let stand; the library would let any white space of Unicode. */
const strict = Object.assign(options, { NEXT_TOKEN_REGEXP: /(\r\n|[^ \t])/ })
const parser = new Parser(strict)
/** The library takes one away at the start of what it is given: this one, and never one of a row. */
const byteOrderMark = '\uFEFF'
const quote = 34
/** What may stand behind the quote that ends a column, besides the next comma. */
const behindQuote = '" \t\r\n'
const notPlain = /^[ \t]|["\r\n]/

/** The most that `limits.rowBytesMax` may say: a longer row is no use, whatever its columns hold. */
export const rowCharactersMax = 1_048_576

/**
 * The columns of one row by RFC 4180; undefined where its quotes do not make one row of it. A row
 * that no profile takes is not looked at: the parser needs some 25 bytes for each of its characters.
 */
export function parseRow(raw: string): readonly string[] | undefined {
  if (raw.length > rowCharactersMax) return undefined
  if (!raw.includes('"')) return raw.split(',')
  const plain = splitPlain(raw)
  if (plain !== undefined) return plain === 'broken' ? undefined : plain
  try {
    const { rows } = parser.parse(`${byteOrderMark}${raw}\n`, false)
    return rows.length === 1 ? rows[0] : undefined
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Parse Error')) return undefined
    throw error
  }
}

/**
 * The columns of a row that holds no quotes but those at both ends of a column, as nearly all do;
 * undefined for one that only the parser can tell, at many times the cost.
 */
function splitPlain(raw: string): readonly string[] | 'broken' | undefined {
  const columns: string[] = []
  for (let at = 0; ; at++) {
    const isQuoted = raw.charCodeAt(at) === quote
    const from = isQuoted ? at + 1 : at
    const found = raw.indexOf(isQuoted ? '"' : ',', from)
    if (isQuoted && found === -1) return 'broken'
    const to = found === -1 ? raw.length : found
    const column = raw.slice(from, to)
    if (!isQuoted && notPlain.test(column)) return undefined
    columns.push(column)
    at = isQuoted ? to + 1 : to
    if (at === raw.length) return columns
    const next = raw[at] as string
    if (next !== ',') return behindQuote.includes(next) ? undefined : 'broken'
  }
}

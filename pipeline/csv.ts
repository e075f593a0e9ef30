import { ParserOptions } from '@fast-csv/parse'
import { Parser } from '@fast-csv/parse/build/src/parser/index.js'

const options = new ParserOptions({ headers: false, trim: false, ignoreEmpty: false })
/** Around quotes blanks and tabs are let stand; the library would let any white space of Unicode. */
const strict = Object.assign(options, { NEXT_TOKEN_REGEXP: /(\r\n|[^ \t])/ })
const parser = new Parser(strict)
/** The library takes one away at the start of what it is given: this one, and never one of a row. */
const byteOrderMark = '\uFEFF'

/** The most that `limits.rowBytesMax` may say: a longer row is no use, whatever its columns hold. */
const rowCharactersMax = 1_048_576

/**
 * The columns of one row by RFC 4180; undefined where its quotes do not make one row of it. A row
 * that no profile takes is not looked at: the parser needs some 25 bytes for each of its characters.
 */
export function parseRow(raw: string): readonly string[] | undefined {
  if (raw.length > rowCharactersMax) return undefined
  if (!raw.includes('"')) return raw.split(',')
  try {
    const { rows } = parser.parse(`${byteOrderMark}${raw}\n`, false)
    return rows.length === 1 ? rows[0] : undefined
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Parse Error')) return undefined
    throw error
  }
}

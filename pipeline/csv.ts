import { ParserOptions } from '@fast-csv/parse'
import { Parser } from '@fast-csv/parse/build/src/parser/index.js'

const parser = new Parser(new ParserOptions({ headers: false, trim: false, ignoreEmpty: false }))

/** The columns of one row by RFC 4180; undefined where its quotes do not make one row of it. */
export function parseRow(raw: string): readonly string[] | undefined {
  if (!raw.includes('"')) return raw.split(',')
  try {
    const { rows } = parser.parse(`${raw}\n`, false)
    return rows.length === 1 ? rows[0] : undefined
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('Parse Error')) return undefined
    throw error
  }
}

import t from 'tap'
import { parseRow } from '../../../pipeline/files/csv.js'

t.test('a row is taken apart as RFC 4180 has it', async (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['a,b', ['a', 'b']],
    ['', ['']],
    [',', ['', '']],
    ['"a,b",c', ['a,b', 'c']],
    ['"a""b"', ['a"b']],
    ['"""a""",""""', ['"a"', '"']],
    ['"a"" b" ,"\u00a0\uE000",\uE000', ['a" b', '\u00a0\uE000', '\uE000']],
    ['"a\nb",c', ['a\nb', 'c']],
    ['""', ['']],
    ['6" pipe,b', ['6" pipe', 'b']],
    [' "a" ,b', ['a', 'b']],
    ['\u00a0"a,b"', ['\u00a0"a', 'b"']],
    ['\v"a"', ['\v"a"']],
    ['\uFEFF"a",b', ['\uFEFF"a"', 'b']],
    ['\uFEFFa,"b"', ['\uFEFFa', 'b']],
  ]
  for (const [raw, columns] of rows) t.same(parseRow(raw), columns, JSON.stringify(raw))
})

t.test('quotes that do not make one row are refused', async (t) => {
  const broken = [
    '"a',
    '"a""',
    '"a"b,c',
    'a,"b',
    '"',
    'a"\nb,c',
    '"a",b\nc,"d"',
    '"a"\u00a0,b',
    'a,"b"\f',
  ]
  for (const raw of broken) {
    t.equal(parseRow(raw), undefined, JSON.stringify(raw))
  }
  t.same(parseRow('a,b'), ['a', 'b'], 'and leave nothing behind for the next')
})

t.test('a row longer than any profile takes is not taken apart', async (t) => {
  const most = 1_048_576
  t.same(parseRow(`"a",${'x'.repeat(most - 4)}`)?.length, 2)
  t.equal(parseRow(`"a",${'x'.repeat(most - 3)}`), undefined)
  t.equal(parseRow(','.repeat(most + 1)), undefined)
})

/**
 * RFC 4180, with blanks and tabs around quotes; a quote inside an unquoted column is a character.
 * fast-csv drops blanks that are all of the first column.
 */
const anyColumn = /(?:[ \t]*"((?:[^"]|"")*)"[ \t]*|(?![ \t]*")([^,\r\n]*))(,|\r?$)/y

function byGrammar(raw: string): readonly string[] | undefined {
  const columns: string[] = []
  anyColumn.lastIndex = 0
  for (;;) {
    const found = anyColumn.exec(raw)
    if (found === null) return undefined
    const bare = columns.length === 0 ? found[2]?.replace(/^ +$/, '') : found[2]
    columns.push(bare ?? (found[1] as string).replaceAll('""', '"'))
    if (found[3] !== ',') return columns
  }
}

t.test('every short row is taken apart as the grammar has it', async (t) => {
  for (const last of ['\r', '\u00a0']) {
    let rows = ['']
    for (let length = 1; length <= 6; length++) {
      rows = rows.flatMap((row) => ['a', '"', ',', ' ', '\n', last].map((next) => row + next))
      const other = rows.find((row) => {
        return row.includes('"') && JSON.stringify(parseRow(row)) !== JSON.stringify(byGrammar(row))
      })
      t.equal(other, undefined, `of ${rows.length} with ${length} characters`)
    }
  }
})

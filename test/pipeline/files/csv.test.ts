import { ParserOptions } from '@fast-csv/parse'
import { Parser } from '@fast-csv/parse/build/src/parser/index.js'
import t from 'tap'
import { parseRow } from '../../../pipeline/files/csv.js'

t.test('a row is taken apart as RFC 4180 has it', async (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['a,b', ['a', 'b']],
    ['', ['']],
    [',', ['', '']],
    ['"a,b",c', ['a,b', 'c']],
    ['"a""b"', ['a"b']],
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

t.test('quotes that do not make one row are no row', async (t) => {
  const broken = ['"a', '"a"b,c', 'a,"b', '"', 'a"\nb,c', '"a",b\nc,"d"', '"a"\u00a0,b', 'a,"b"\f']
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

t.test('every short row is taken apart as the library does it', async (t) => {
  const options = new ParserOptions({ headers: false, trim: false, ignoreEmpty: false })
  const parser = new Parser(Object.assign(options, { NEXT_TOKEN_REGEXP: /(\r\n|[^ \t])/ }))
  const byLibrary = (raw: string) => {
    try {
      const { rows } = parser.parse(`\uFEFF${raw}\n`, false)
      return rows.length === 1 ? rows[0] : undefined
    } catch {
      return undefined
    }
  }
  let rows = ['']
  for (let length = 1; length <= 6; length++) {
    rows = rows.flatMap((row) => ['a', '"', ',', ' ', '\n', '\r'].map((next) => row + next))
    const other = rows.find((row) => {
      return row.includes('"') && JSON.stringify(parseRow(row)) !== JSON.stringify(byLibrary(row))
    })
    t.equal(other, undefined, `of ${rows.length} with ${length} characters`)
  }
})

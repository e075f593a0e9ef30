import t from 'tap'
import { parseRow } from '../../pipeline/csv.js'

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
  ]
  for (const [raw, columns] of rows) t.same(parseRow(raw), columns, JSON.stringify(raw))
})

t.test('quotes that do not make one row are no row', async (t) => {
  for (const raw of ['"a', '"a"b,c', 'a,"b', '"', 'a"\nb,c', '"a",b\nc,"d"']) {
    t.equal(parseRow(raw), undefined, JSON.stringify(raw))
  }
  t.same(parseRow('a,b'), ['a', 'b'], 'and leave nothing behind for the next')
})

import fc from 'fast-check'
import t from 'tap'
import { cutPoint, lastQuantity, linePicker, splitRows } from '../../../pipeline/files/rows.js'
import { measure } from '../../../pipeline/usage/measure/measure.js'
import { createSeenTimestamps } from '../../../pipeline/usage/timestamps.js'
import { runs } from '../../rig/sample.js'

const rowsOf = (text: string, line = 2) => [...splitRows(Buffer.from(text), line)]

t.test('a row is a line, and a blank line is not a row', async (t) => {
  t.same(rowsOf('a,1\n\nb,2\r\n\r\nc,3'), [
    { line: 2, raw: 'a,1' },
    { line: 4, raw: 'b,2' },
    { line: 6, raw: 'c,3' },
  ])
})

t.test('a line break inside quotes belongs to its row', async (t) => {
  t.same(rowsOf('a,"x\ny",1\nb,2\n'), [
    { line: 2, raw: 'a,"x\ny",1' },
    { line: 4, raw: 'b,2' },
  ])
})

t.test('a quote that is never closed costs its own line only', async (t) => {
  const filler = `${'b,2\n'.repeat(40_000)}`
  const rows = rowsOf(`a,"x\n${filler}`)
  t.equal(rows.length, 40_001)
  t.same(rows[0], { line: 2, raw: 'a,"x' })
  t.same(rows.at(-1), { line: 40_002, raw: 'b,2' })
})

t.test('lines are picked by physical number, from where the last call ended', async (t) => {
  const pick = linePicker(Buffer.from('a\nb\r\n\nd\ne\nf'), 2)
  t.same(
    [...pick([2, 3])],
    [
      { line: 2, raw: 'a' },
      { line: 3, raw: 'b' },
    ],
  )
  t.same([...pick(Uint32Array.of(4, 6))], [{ line: 6, raw: 'e' }])
  t.same([...pick([])], [])
  t.same([...pick([7])], [{ line: 7, raw: 'f' }])
})

t.test('a piece is cut behind a line end, never inside quotes', async (t) => {
  t.equal(cutPoint(Buffer.from('a,1\nb,2\nc')), 8)
  t.equal(cutPoint(Buffer.from('abc')), 0)
  const tail = 'b,2\n'.repeat(30_000)
  const text = `a,"x\ny",1\n${tail}`
  const cut = cutPoint(Buffer.from(text))
  t.ok(cut > 0 && text.slice(0, cut).endsWith('\n'))
  t.same([...rowsOf(text.slice(0, cut)), ...rowsOf(text.slice(cut))].length, 30_001)
})

t.test('the quantity of a row is its last column, wherever that stands', async (t) => {
  const cases: readonly (readonly [string, bigint])[] = [
    ['a,b,c,d,1.5', 1_500_000n],
    ['a,b,c,d,-0.25', -250_000n],
    ['a,b,c,d, 2 ', 2_000_000n],
    ['a,b,c,d,"3"', 3_000_000n],
    ['a,b,c,d," 3 " ', 3_000_000n],
    ['"a",b,c,d,3\r', 3_000_000n],
    ['a,b,c,d,"3"\r', 3_000_000n],
    ['a,b,c,d,"3"\u00a0', 0n],
    ['a,b,c,d,\u00a0"3"', 0n],
    ['5', 5_000_000n],
    ['a,b,c,d,.5', 500_000n],
    ['a,b,c,d,5.', 0n],
    ['a,b,c,d,1e3', 0n],
    ['a,b,c,d,+1', 0n],
    ['a,b,c,d,', 0n],
    ['a,b,c,d,-', 0n],
    ['a,b,c,d,1.2.3', 0n],
    ['a,b,c,"x,5"', 0n],
    ['a,b,c,d,0.1234565', 123_456n],
    ['a,b,c,d,9999999999999', 0n],
  ]
  for (const [raw, micros] of cases) t.equal(lastQuantity(raw).micros, micros, raw)
})

t.test('a chunk measured as bytes holds the rows and the energy of its rows', async () => {
  const last = fc.oneof(
    fc.constantFrom('', '-', '.', '1e5', 'x', '"7.5"', '"7', ' 8 ', '1.2.3', '5.', '.5', '1-5'),
    fc.integer({ min: -1e12, max: 1e12 }).map((n) => String(n / 1000)),
    fc.tuple(fc.nat(10 ** 13), fc.nat(10 ** 9)).map(([a, b]) => `${a}.${b}`),
  )
  const row = fc.oneof(
    fc.tuple(fc.constantFrom('a,b,c,d', 'a', 'a,"b\nc",d', 'a,"b'), last).map((p) => p.join(',')),
    fc.constantFrom('', '\r', '"', '""', '7', 'a,b'),
  )
  const text = fc
    .tuple(fc.array(row, { maxLength: 30 }), fc.constantFrom('\n', '\r\n'), fc.boolean())
    .map(([rows, end, ended]) => rows.join(end) + (ended ? end : ''))
  fc.assert(
    fc.property(text, (text) => {
      const bytes = Buffer.from(text)
      const found = measure(
        bytes,
        createSeenTimestamps(() => undefined),
      )
      const rows = [...splitRows(bytes, 2)]
      const micros = rows.reduce((sum, { raw }) => sum + lastQuantity(raw).micros, 0n)
      const rounded = rows.filter(({ raw }) => lastQuantity(raw).rounded).length
      const lines = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
      return (
        found.rows === rows.length &&
        found.micros === micros &&
        found.rounded === rounded &&
        found.lines === lines
      )
    }),
    { numRuns: runs(3_000), verbose: 1 },
  )
})

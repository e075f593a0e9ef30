import t from 'tap'
import { convert } from '../convert.js'

const generation = { column: 'Direction', is: ['out', '1-0:2.8.0'] }
const columns = { meter: 'Meter', time: 'Time', quantity: 'Value', generation }
const format = { name: 'csv', delimiter: ';', decimal: ',', columns }

/** A file of rows with these directions and quantities. */
const fileOf = (...rows: readonly (readonly [direction: string, quantity: string])[]) =>
  convert(
    [
      'Meter;Time;Value;Direction',
      ...rows.map(([direction, quantity]) => `M;2026-01-01 00:00;${quantity};${direction}`),
      '',
    ].join('\n'),
    { format },
  )
const negative = {
  code: 'NEGATIVE',
  detail: /the file itself has signs, leave columns\.generation out/,
}

t.test('generation that is below 0 is refused, never made consumption', async (t) => {
  const cases: readonly (readonly [quantity: string, found: string])[] = [
    ['1,25', '-1.25'],
    ['-1,25', 'NEGATIVE'],
    ['-0,000001', 'NEGATIVE'],
    ['-0,0', '0.0'],
    ['0', '0'],
    ['-x', '?'],
  ]
  for (const [quantity, found] of cases) {
    const { records } = await fileOf(['out', quantity])
    const { refused, rows = '' } = records[1] ?? {}
    t.equal(refused?.code ?? rows.split(',')[4], found, quantity)
    if (refused === undefined) continue
    t.match(refused, negative)
    t.match(rows, /^M,M,M,,-\d/, 'its total is as sent')
  }
  const { plain } = await fileOf(['in', '-1,25'])
  t.match(plain, /,-1\.25,0,\n$/, 'consumption keeps its sign')
})

t.test('a day of generation is refused as a whole where a value is below 0', async (t) => {
  const hours = Array.from({ length: 24 }, (_, at) => `H${at}`)
  const values = { from: 'H0', count: 24 }
  const wide = { meter: 'Meter', time: 'Day', values, generation }
  const day = (value: string) =>
    convert(
      `Meter;Day;Direction;${hours.join(';')}\nM;2026-01-01;out;${hours.map((_, at) => (at === 3 ? value : '')).join(';')}\n`,
      { format: { ...format, interval: 3_600, columns: wide } },
    )
  t.match((await day('-2,5')).records[1], { count: 1, rows: /^M,M,M,,-2\.5,/, refused: negative })
  const { plain, ending } = await day('2,5')
  t.match(plain, /,-2\.5,3600,/)
  t.same(ending.warnings, [
    'intervals without a value: not loaded: 23',
    'intervals of direction "out": loaded as negative: 1',
  ])
})

t.test('the receipt says how each direction was loaded', async (t) => {
  const { ending } = await fileOf(
    ...(['in', 'out', ' out ', 'Out', '', '1-0:2.8.0'] as const).map((one) => [one, '1'] as const),
    ...(['out', 'in'] as const).map((one) => [one, '-1'] as const),
    ...Array.from({ length: 40 }, (_, at) => [`DE00${1_234_567 + at} ${at % 2}`, '1'] as const),
  )
  t.same(ending.warnings, [
    'intervals of direction "in": loaded as consumption: 2',
    'intervals of direction "out": loaded as negative: 2',
    'intervals of direction "Out": loaded as consumption: 1',
    'intervals of direction "": loaded as consumption: 1',
    'intervals of direction "1-0:2.8.0": loaded as negative: 1',
    'intervals of direction "DE# 0": loaded as consumption: 20',
    'intervals of direction "DE# 1": loaded as consumption: 20',
  ])
  const many = Array.from({ length: 30 }, (_, at) => [`d${at}`, '1'] as const)
  const bounded = (await fileOf(...many)).ending.warnings
  t.equal(bounded.length, 21)
  t.match(bounded.at(-1), /and 1 other kinds of intervals/)
})

import t from 'tap'
import { convert, profileWith } from '../convert.js'

const columns = {
  ...{ meter: 'Meter', time: 'Time', quantity: 'Value' },
  expected: [
    { column: 'Unit', is: ['kWh', 'KWH'] },
    { column: 'Factor', is: ['1'] },
  ],
}
const format = { name: 'csv', columns, unit: 'kWh' }
const text = (...rows: readonly string[]) =>
  ['Meter,Time,Value,Unit,Factor', ...rows, ''].join('\n')

t.test('a row with another text than the expected one is rejected, not loaded', async (t) => {
  const { records } = await convert(
    text(
      'M,2026-01-01 00:00,1, kWh ,1',
      'M,2026-01-01 01:00,2,KWH,1',
      'M,2026-01-01 02:00,3000,Wh,1',
      'M,2026-01-01 03:00,4,kwh,1',
      'M,2026-01-01 04:00,5,,1',
      'M,2026-01-01 05:00,6,kWh,40',
    ),
    { format },
  )
  t.same(
    records.slice(1, 7).map(({ refused }) => refused && [refused.code, refused.detail]),
    [
      undefined,
      undefined,
      ['BAD_RECORD', 'the column "Unit" has "Wh", but columns.expected lists "kWh", "KWH"'],
      ['BAD_RECORD', 'the column "Unit" has "kwh", but columns.expected lists "kWh", "KWH"'],
      ['BAD_RECORD', 'the column "Unit" has "", but columns.expected lists "kWh", "KWH"'],
      ['BAD_RECORD', 'the column "Factor" has "40", but columns.expected lists "1"'],
    ],
  )
})

t.test('so is the day of a wide row', async (t) => {
  const values = Array.from({ length: 24 }, (_, at) => `H${at}`)
  const own = {
    ...{ name: 'csv', interval: 3_600 },
    columns: {
      ...{ meter: 'Meter', time: 'Day', values: { from: 'H0', count: 24 } },
      expected: [{ column: 2, is: ['kWh'] }],
    },
  }
  const row = (unit: string) => `M,${unit},2026-01-01,${values.map(() => '1').join()}`
  const file = [`Meter,UOM,Day,${values.join()}`, row('kWh'), row('Wh'), ''].join('\n')
  const { records } = await convert(file, { format: own })
  t.same(
    records.slice(1, 3).map(({ count, refused }) => [count, refused?.detail]),
    [
      [24, undefined],
      [1, 'the column at position 2 has "Wh", but columns.expected lists "kWh"'],
    ],
  )
})

t.test('a file without the column is refused, and so is its name where no header is', async (t) => {
  await t.rejects(convert('Meter,Time,Value,Factor\n', { format }), {
    message: /HEADER: columns\.expected: no column "Unit"/,
  })
  const own = { meter: 1, time: 2, quantity: 3, expected: [{ column: 'Unit', is: ['kWh'] }] }
  t.throws(() => profileWith({ format: { name: 'csv', header: false, columns: own } }), {
    message: /use positions/,
  })
})

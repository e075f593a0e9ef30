import t from 'tap'
import { convert, profileWith } from '../convert.js'

const columns = { meter: 'Meter', time: 'Time', quantity: 'In', received: { column: 'Out' } }
const format = { name: 'csv', columns }

/** What becomes of a delivered and a received quantity. */
async function netOf(delivered: string, received: string, more: object = {}) {
  const { records } = await convert(
    `Meter;Time;In;Out\nM;2026-01-01 00:00;${delivered};${received}\n`,
    { format: { ...format, delimiter: ';', ...more } },
  )
  const [, record] = records
  return record?.refused?.code ?? record?.rows.split(',')[4]
}

t.test('received energy is subtracted exactly', async (t) => {
  const cases: readonly (readonly [delivered: string, received: string, net: string])[] = [
    ['1.5', '0', '1.5'],
    ['0', '0.25', '-0.25'],
    ['0.3', '0.1', '0.2'],
    ['0', '0', '0'],
    ['-0', '0.0', '0'],
    [`1.5${'0'.repeat(100)}1`, `0.5${'0'.repeat(100)}1`, '1'],
    ['123456789.000001', '0.000002', '123456788.999999'],
  ]
  for (const [delivered, received, net] of cases) {
    t.equal(await netOf(delivered, received), net, `${delivered} and ${received}`)
  }
  t.equal(await netOf('1,5', '0,25', { decimal: ',', unit: 'Wh' }), '0.00125')
})

t.test('a row of which the quantity or its sign is not sure is rejected', async (t) => {
  const empty = { columns: { ...columns, received: { column: 'Out', emptyIsZero: true } } }
  const cases: readonly (readonly [
    delivered: string,
    received: string,
    found: string,
    more?: object,
  ])[] = [
    ['1.5', '', ''],
    ['', '1.5', ''],
    ['1.5', 'x', '?'],
    ['1.5', `0.5${'0'.repeat(1_000)}`, '?'],
    ['1.5', '-0.25', 'NEGATIVE'],
    ['-1.5', '0.25', 'NEGATIVE'],
    ['1.5', '', '1.5', empty],
    ['', '', '', empty],
    ['', '0.5', '', empty],
  ]
  for (const [delivered, received, found, more] of cases) {
    t.equal(await netOf(delivered, received, more), found, `${delivered} and ${received}`)
  }
})

t.test('received energy needs one column of quantities, and no other sign', async (t) => {
  for (const more of [
    { quantity: undefined, values: { from: 'H1', count: 24 } },
    { generation: { column: 'Flow', is: ['R'] } },
  ]) {
    t.throws(
      () =>
        profileWith({ format: { ...format, interval: 3_600, columns: { ...columns, ...more } } }),
      { message: /columns\.received: leave it out/ },
    )
  }
  await t.rejects(convert('Meter,Time,In\n', { format }), {
    message: /columns\.received\.column: no column "Out"/,
  })
})

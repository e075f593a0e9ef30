import t from 'tap'
import { convert } from '../convert.js'

const columns = { meter: 'Meter', time: 'Time', quantity: 'Value' }
const format = { name: 'csv', columns, leaveOut: ['Total', 'Number of rows'] }
const text = (...rows: readonly string[]) => ['Meter,Time,Value', ...rows, ''].join('\n')
const read = 'M,2026-01-01 00:00,1'
const rowsOf = (plain: string) => plain.split('\n').filter((row) => row !== '')

t.test('lines of totals are left out and counted, whatever columns they have', async (t) => {
  const lines = ['Total,,1', ',TOTAL: 1', '"Total",1', 'number of rows 1', '  total kWh,,1,,']
  for (const file of [text(read, ...lines), text(read, ...lines).trimEnd()]) {
    const { plain, records, ending } = await convert(file, { format })
    t.same(rowsOf(plain), ['M,M,M,2026-01-01 00:00,1,0,'])
    t.notOk(records.some(({ refused }) => refused))
    t.equal(ending.cut, undefined)
    t.same(ending.warnings, ['lines that leaveOut names, not loaded: 5'])
  }
})

t.test('only what begins with a whole word of the profile is left out', async (t) => {
  const lines = ['Totals,,1', 'Sum,,1', 'M,,1', '"Total,1', 'Total,Total,1']
  const { records, ending } = await convert(text(read, ...lines), { format })
  t.same(ending.warnings, ['lines that leaveOut names, not loaded: 1'])
  t.equal(records.filter(({ count }) => count === 1).length, 5)
})

t.test('the header is not a line that is left out', async (t) => {
  const own = { ...format, columns: { ...columns, meter: 'Total' } }
  const { plain } = await convert(`Total,Time,Value\n${read}\n`, { format: own })
  t.equal(rowsOf(plain).length, 1)
})

import { t } from 'tap'
import { bytesText, grouped, renderTable } from '../../../../infra/commands/output/table.js'

t.test('a table has aligned columns, numbers to the right', async (t) => {
  const text = renderTable<{ name: string; count: number }>(
    [
      { title: 'file', cell: (row) => row.name },
      { title: 'rows', right: true, cell: (row) => grouped(row.count) },
    ],
    [
      { name: 'a', count: 5 },
      { name: 'longer', count: 1_234_567 },
    ],
  )
  t.same(text.split('\n'), [
    'file         rows',
    '──────  ─────────',
    'a               5',
    'longer  1,234,567',
  ])
})

t.test('what would steer a terminal, or break a line, is shown as a question mark', async (t) => {
  const text = renderTable([{ title: 'file', cell: (name: string) => name }], ['a\n\x1b[2J.csv'])
  t.equal(text, `file\n${'─'.repeat(10)}\na??[2J.csv`)
})

t.test('numbers are grouped before the point only', async (t) => {
  t.same(['0', '999', '1000', '-1234567.123456', '12345.6'].map(grouped), [
    '0',
    '999',
    '1,000',
    '-1,234,567.123456',
    '12,345.6',
  ])
})

t.test('bytes come in the unit that fits', async (t) => {
  t.same([0, 999, 1_000, 9_286_457, 5e11, 2e15].map(bytesText), [
    '0 B',
    '999 B',
    '1.0 kB',
    '9.3 MB',
    '500.0 GB',
    '2000.0 TB',
  ])
})

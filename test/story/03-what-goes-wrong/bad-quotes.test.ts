/**
 * # 3.2 Bad quotes
 *
 * What: Quotes that are never closed, line ends inside quotes, and rows cut between two chunks.
 * Why: One stray quote must cost its own row only. The engine and the row path must judge such
 * rows alike.
 * Try: Delete one closing quote in the middle of a large file and compare the two receipts.
 */
import t from 'tap'
import { balance } from '../../../schemas/receipt.js'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t, { profile: { usage: { rejectedShareMax: 1 } } })

const rowsCount = 60_000
const minuteOf = (index: number) =>
  `3/4/2024 ${Math.trunc(index / 4) % 24}:${(index % 4) * 15 || '00'}`

t.test('line ends in quotes stay in their row wherever a chunk is cut', async (t) => {
  const rows = Array.from({ length: rowsCount }, (_, index) => {
    const site = index % 3 === 0 ? `"S,\n""${index}"""` : `"S-${index}"`
    return `"A-${index}",${site},"M-${index}","${minuteOf(index)}","0.001"`
  })
  const text = `${header}\n${rows.join('\n')}\n`
  t.ok(text.length > 2_500_000, 'several chunks of 1 MB')
  const receipt = await story.loadBytes('DEMO_05032024_Electric.csv', text)
  const broken = rowsCount / 3
  t.match(receipt, {
    status: 'published',
    rows: { read: rowsCount, accepted: rowsCount - broken, rejected: broken },
    quantity: { read: '60', accepted: '40', rejected: '20' },
    meters: rowsCount - broken,
  })
  const [found] = await story.reader.rows({
    sql: `SELECT toString(uniqExact(meter_id)) AS meters,
        toString(countIf(external_site_id = concat('S-', substring(meter_id, 3)))) AS straight,
        toString(countIf(account_number != concat('A-', substring(meter_id, 3)))) AS mixed
      FROM usage`,
  })
  t.same(found, { meters: '40000', straight: '40000', mixed: '0' })
  const rejects = await story.reader.rows({
    sql: `SELECT code, column_name, toString(count()) AS rows, toString(max(line)) AS last,
        toString(countIf(endsWith(raw, '"0.001"'))) AS ended
      FROM rejected_row WHERE file_name = 'DEMO_05032024_Electric.csv' GROUP BY code, column_name`,
  })
  const code = { code: 'CONTROL_CHARACTER', column_name: 'ExternalSiteID' }
  t.same(rejects, [{ ...code, rows: '20000', last: '79998', ended: '20000' }], 'of each its lines')
})

t.test('a quote that is never closed costs its own row only, in a file of many MB', async (t) => {
  const rows = Array.from(
    { length: rowsCount },
    (_, index) => `A-${index},S-${index},N-${index},${minuteOf(index)},0.5`,
  )
  const bad = rows.length >> 1
  rows[bad] = `A,"S,N-${bad},3/4/2024 0:00,7`
  const receipt = await story.loadBytes(
    'DEMO_06032024_Electric.csv',
    `${header}\n${rows.join('\n')}\n`,
  )
  t.match(receipt, {
    status: 'published',
    rows: { read: rowsCount, accepted: rowsCount - 1, rejected: 1 },
    quantity: { rejected: '7', accepted: '29999.5' },
  })
  t.ok(balance(receipt))
  const rejected = await story.reader.rows({
    sql: `SELECT line, code FROM rejected_row WHERE file_name = 'DEMO_06032024_Electric.csv'`,
  })
  t.same(rejected, [{ line: bad + 2, code: 'BAD_QUOTES' }])
})

t.test('two stray quotes swallow no row between them', async (t) => {
  const row = (id: string, account = 'A') => `${account},S,${id},3/4/2024 0:00,0`
  const rows = [row('Q-1', '6" pipe'), row('Q-2'), row('Q-3'), row('Q-4', '7"'), row('Q-5')]
  const receipt = await story.loadBytes(
    'DEMO_07032024_Electric.csv',
    `${header}\n${rows.join('\n')}\n`,
  )
  t.match(receipt, { status: 'published', rows: { read: 5, accepted: 5 } })
})

t.test('the last row may hold a line end and lack its own', async (t) => {
  const text = `${header}\nA,S,T-1,3/4/2024 0:00,1\nA,"S\nS",T-2,3/4/2024 0:00,2`
  const receipt = await story.loadBytes('DEMO_09032024_Electric.csv', text)
  t.match(receipt, { status: 'published', rows: { read: 2, accepted: 1, rejected: 1 } })
})

t.test('the row path reports what the engine accepts beside quotes', async (t) => {
  const rows = [
    '"A",S,U-1,3/4/2024 0:00,1',
    'A,S,U-2,3/4/2024 0:00,2,',
    'A,S,U-3,3/4/2024 0:00,"3" , ',
    'A,S,U-4,3/4/2024 0:00,4\r',
    'A,S,\f"U-5",3/4/2024 0:00,5',
    '"A"\u00a0,S,U-6,3/4/2024 0:00,6',
    'A,S,U-7,3/4/2024 0:00,\u00a0"7"',
    '\r"A",S,U-8,3/4/2024 0:00,8',
  ]
  const files = [
    { chosen: rows, rejected: 7 },
    { chosen: [rows[0], rows[3], rows[4]], rejected: 2 },
    { chosen: [rows[0], rows[7]], rejected: 1 },
  ]
  for (const [index, { chosen, rejected }] of files.entries()) {
    const name = `DEMO_1${index}032024_Electric.csv`
    const receipt = await story.loadBytes(name, `${header}\n${chosen.join('\r\n')}\n`)
    t.match(receipt, { status: 'published', rows: { read: chosen.length, rejected } })
    t.ok(balance(receipt))
  }
  const found = await story.reader.rows({
    sql: `SELECT line, code, column_name FROM rejected_row
      WHERE file_name = 'DEMO_10032024_Electric.csv' ORDER BY line`,
  })
  t.same(found, [
    { line: 3, code: 'TOO_MANY_COLUMNS', column_name: '' },
    { line: 4, code: 'TOO_MANY_COLUMNS', column_name: '' },
    { line: 5, code: 'NOT_A_NUMBER', column_name: 'TotalUnit' },
    { line: 6, code: 'CONTROL_CHARACTER', column_name: 'MeterID' },
    { line: 7, code: 'BAD_QUOTES', column_name: '' },
    { line: 8, code: 'NOT_A_NUMBER', column_name: 'TotalUnit' },
    { line: 9, code: 'CONTROL_CHARACTER', column_name: '' },
  ])
  const kept = await story.reader.rows({
    sql: `SELECT meter_id FROM usage WHERE match(meter_id, 'U-') ORDER BY meter_id`,
  })
  t.same(kept, [{ meter_id: 'U-1' }])
})

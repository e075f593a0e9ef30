/**
 * # 3.1 Bad rows
 *
 * What: Each reason to reject a row, with its line, column and words, and the share of bad rows
 * that a file may have.
 * Why: A rejected row that nobody hears of is a wrong bill. A single bad row must not hold up a
 * million good ones.
 * Try: Put a letter into a quantity, load the file and open its `.rejects.csv`.
 */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createProducerConnection } from '../../../pipeline/queues/redis.js'
import { balance, type Receipt } from '../../../schemas/receipt.js'
import { type RejectCode, rejectCodes } from '../../../schemas/usage-row.js'
import { tieline } from '../../infra/command-line.js'
import { dumpOf, header, openStory } from '../rig/stack.js'

const story = await openStory(t)

type Case = readonly [RejectCode, string, string]

const long = 'x'.repeat(65)
/**
 * One row for each reason, and more where a reason has several faces: code, column, row. The last row
 * has no line end.
 */
const cases: readonly Case[] = [
  ['ROW_TOO_LONG', '', `A,S,M,3/4/2024 0:00,${'0'.repeat(66_000)}1`],
  ['BAD_QUOTES', '', 'A,"S"x,M,3/4/2024 0:00,1'],
  ['TOO_FEW_COLUMNS', '', 'A,S,M,3/4/2024 0:00'],
  ['TOO_FEW_COLUMNS', '', 'A'],
  ['TOO_MANY_COLUMNS', '', 'A,S,M,3/4/2024 0:00,1,2'],
  ['TOO_MANY_COLUMNS', '', 'A,S,M,3/4/2024 0:00,1,'],
  ['EMPTY', 'AccountNumber', ',S,M,3/4/2024 0:00,1'],
  ['EMPTY', 'ExternalSiteID', 'A,  ,M,3/4/2024 0:00,1'],
  ['EMPTY', 'MeterID', 'A,S,,3/4/2024 0:00,1'],
  ['EMPTY', 'TimeStamp', 'A,S,M,,1'],
  ['EMPTY', 'TotalUnit', 'A,S,M,3/4/2024 0:00,'],
  ['TOO_LONG', 'MeterID', `A,S,${long},3/4/2024 0:00,1`],
  ['SPREADSHEET_NUMBER', 'AccountNumber', '9.1002E+11,S,M,3/4/2024 0:00,1'],
  ['CONTROL_CHARACTER', 'MeterID', 'A,S,M\r1,3/4/2024 0:00,1'],
  ['CONTROL_CHARACTER', 'ExternalSiteID', 'A,\ufeffS,M,3/4/2024 0:00,1'],
  ['CONTROL_CHARACTER', '', '"A",S\r1,M,3/4/2024 0:00,1'],
  ['FORMULA', 'AccountNumber', '=A1,S,M,3/4/2024 0:00,1'],
  ['FORMULA', 'MeterID', 'A,S,-1,3/4/2024 0:00,1'],
  ['NOT_A_TIME', 'TimeStamp', 'A,S,M,13/13/2024 0:00,1'],
  ['FUTURE_TIME', 'TimeStamp', 'A,S,M,3/4/2044 0:00,1'],
  ['NOT_A_TIME', 'TimeStamp', 'A,S,M,3/4/2024 24:00,1'],
  ['NONEXISTENT_TIME', 'TimeStamp', 'A,S,M,3/10/2024 2:30,1'],
  ['TIME_FORMAT', 'TimeStamp', 'A,S,M,3/4/2024,1'],
  ['AMBIGUOUS_TIME', 'TimeStamp', 'A,S,T,11/5/2023 1:00,9'],
  ['INTERVAL_LENGTH', 'TimeStamp', 'A,S,L,3/4/2024 0:00,1'],
  ['INTERVAL_LENGTH', 'TimeStamp', 'A,S,L,3/4/2024 0:07,9999999.5'],
  ['NOT_A_NUMBER', 'TotalUnit', 'A,S,M,3/4/2024 0:00,1e3'],
  ['NOT_A_NUMBER', 'TotalUnit', 'A,S,M,3/4/2024 0:00,0.'],
  ['NOT_A_NUMBER', 'TotalUnit', 'A,S,M,3/4/2024 0:00,"1,5"'],
  ['NEGATIVE', 'TotalUnit', 'A,S,M,3/4/2024 0:00,-1'],
  ['TOO_LARGE', 'TotalUnit', 'A,S,M,3/4/2024 0:00,999999999.000001'],
  ['MAYBE_CUT', 'TotalUnit', 'A,S,M,3/4/2024 0:00,0.1'],
]

const good = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => `A,S,${name}-${index},3/4/2024 0:00,1`)
const textOf = (rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`

/** A night in which the clock shows 1:00 twice. */
const night = ['0:00', '1:00', '1:00', '2:00'].map(
  (time, index) => `A,S,T,11/5/2023 ${time},${index + 1}`,
)

/** Reasons to reject a record of a file in another format. */
const ofOtherFormats = ['BAD_RECORD', 'INTERVAL_COUNT']

t.test('every reason to reject a row is reported with line, column and words', async (t) => {
  t.match(await story.loadBytes('DEMO_06112023_Gas.csv', textOf(night)), { status: 'published' })
  const codes = Object.keys(rejectCodes).filter((code) => !ofOtherFormats.includes(code))
  t.same([...new Set(cases.map(([code]) => code))].sort(), codes.sort())
  const rows = [...good(4_000, 'G'), ...cases.map(([, , row]) => row)]
  const receipt = await story.loadBytes('DEMO_05032024_Gas.csv', textOf(rows).trimEnd())
  t.match(receipt, {
    status: 'published',
    rows: { read: 4_000 + cases.length, accepted: 4_000, rejected: cases.length },
  })
  t.ok(balance(receipt))
  const found = await story.reader.rows<Record<string, string | number>>({
    sql: `SELECT line, code, column_name, detail, raw FROM rejected_row
      WHERE file_name = 'DEMO_05032024_Gas.csv' ORDER BY line`,
  })
  t.equal(found.length, cases.length)
  for (const [index, [code, column_name, row]] of cases.entries()) {
    const expected = { line: 4_002 + index, code, column_name, raw: row.slice(0, 1_000) }
    t.match(found[index], expected, `${code} ${column_name}`)
    t.ok(String(found[index]?.['detail']).startsWith(rejectCodes[code].detail))
  }
  const rejects = readFileSync(story.outbox('DEMO_05032024_Gas.csv.rejects.csv'), 'utf8')
  t.equal(rejects.trimEnd().split('\n').length, 1 + cases.length, 'one line for each row')
  t.match(
    rejects,
    `${4_002 + cases.findIndex(([code]) => code === 'NOT_A_NUMBER')},"TotalUnit","NOT_A_NUMBER"`,
  )
})

t.test('the largest quantity and the longest identifier are still good', async (t) => {
  const rows = [
    'A,S,X-1,3/4/2024 0:00,999999999',
    'A,S,X-2,3/4/2024 0:00,-999999999',
    `${'é'.repeat(64)},S,X-3,3/4/2024 0:00,0.000001`,
    'A,S,X-4,3/4/2024 0:00,0.0000005',
    'A,S,X-5,3/4/2024 0:00,0.0000015',
  ]
  const receipt = await story.loadBytes('DEMO_05032024_Electric.csv', textOf(rows))
  t.match(receipt, {
    status: 'published',
    roundedRows: 2,
    rows: { read: 5, accepted: 5 },
    quantity: { read: '0.000003', accepted: '0.000003' },
  })
})

const bad = (count: number) => Array.from({ length: count }, () => 'A,S,,3/4/2024 0:00,1')

t.test('a file of which all or more than half of the rows are bad is quarantined', async (t) => {
  const one = await story.loadBytes('DEMO_08032024_Gas.csv', textOf(bad(1)))
  t.match(one, {
    status: 'quarantined',
    reason:
      /^TOO_MANY_REJECTED: all 1 rows .*; the most frequent cause is EMPTY \(MeterID\), 1 row$/,
  })
  const most = await story.loadBytes('DEMO_09032024_Gas.csv', textOf([...good(2, 'K'), ...bad(3)]))
  t.match(most, {
    status: 'quarantined',
    reason: /^TOO_MANY_REJECTED: 3 of 5 rows .*more than half/,
    held: { rows: 2 },
  })
  const half = await story.loadBytes('DEMO_10032024_Gas.csv', textOf([...good(2, 'K'), ...bad(2)]))
  t.match(half, { status: 'published', rows: { accepted: 2, rejected: 2 } })
})

t.test('a file that is published with rejects is shown as such, and loads well', async (t) => {
  const name = 'DEMO_12032024_Gas.csv'
  const path = join(story.desk, name)
  await writeFile(path, textOf([...good(3, 'W'), ...bad(1)]))
  const home = ['--home', story.home.path]
  const loaded = await tieline('load', path, ...home)
  t.match(loaded, { code: 0, stdout: /DEMO_12032024_Gas\.csv +published/ })
  const note = 'published without 1 of 4 rows, which the rejects file lists'
  t.ok(loaded.stdout.includes(`${name}: ${note}\n`), 'with a line that warns')
  t.ok((await story.receiptOf(name)).notes?.includes(note), 'and its receipt says so')
  t.match((await tieline('status', ...home)).stdout, /^published with rejects +\d/m)
})

t.test('ten bad rows are allowed, the eleventh quarantines a small file', async (t) => {
  const ten = await story.loadBytes('DEMO_06032024_Gas.csv', textOf([...good(10, 'T'), ...bad(10)]))
  t.match(ten, { status: 'published', rows: { read: 20, accepted: 10, rejected: 10 } })
  const eleven = await story.loadBytes(
    'DEMO_07032024_Gas.csv',
    textOf([...good(1_000, 'E'), ...bad(11)]),
  )
  t.match(eleven, {
    status: 'quarantined',
    reason: /^TOO_MANY_REJECTED: 11 of 1011 rows .*usage\.rejectedShareMax allows 1 %/,
    rows: { read: 11, accepted: 0, rejected: 11 },
    quantity: { read: '11', accepted: '0', rejected: '11' },
    held: { rows: 1_000, quantity: '1000' },
  })
  t.ok(balance(eleven), 'its receipt counts every row')
  const [visible] = await story.reader.rows({
    sql: `SELECT toString(count()) AS rows FROM usage WHERE startsWith(meter_id, 'E-')`,
  })
  t.same(visible, { rows: '0' }, 'no row of a quarantined file is visible')
  const rejected = await story.reader.rows({
    sql: `SELECT line, published_at FROM rejected_row WHERE file_name = 'DEMO_07032024_Gas.csv'`,
  })
  t.equal(rejected.length, 11, 'its rejected rows are still reported')
})

t.test('one row in a hundred is allowed, one more is not', async (t) => {
  const at = await story.loadBytes(
    'DEMO_08032024_Gas.csv',
    textOf([...good(1_188, 'H'), ...bad(12)]),
  )
  t.match(at, { status: 'published', rows: { read: 1_200, accepted: 1_188, rejected: 12 } })
  const above = await story.loadBytes(
    'DEMO_09032024_Gas.csv',
    textOf([...good(1_187, 'I'), ...bad(12)]),
  )
  t.match(above, { status: 'quarantined', rows: { rejected: 12 }, held: { rows: 1_187 } })
})

t.test('what file_load calls accepted is what can be read', async (t) => {
  const name = 'DEMO_06032024_Gas.csv'
  t.match(await story.load(join(story.desk, name)), { status: 'duplicate', rows: { accepted: 0 } })
  const [counted] = await story.reader.rows({
    sql: `SELECT sum(rows_accepted) AS rows, sum(quantity_accepted) AS quantity FROM file_load`,
  })
  const [visible] = await story.reader.rows({
    sql: `SELECT count() AS rows, sum(quantity) AS quantity FROM usage`,
  })
  t.same(counted, visible)
})

t.test('rows whose quantity has more digits than the store keeps are counted', async (t) => {
  const rows = ['"1.0000000"', '"1.00000001"', '-2.0000005', '1.00000009 ', '1.0000000001e1'].map(
    (quantity, index) => `A,S,R-${index},3/4/2024 0:00,${quantity}`,
  )
  const receipt = await story.loadBytes('DEMO_09032024_Electric.csv', textOf(rows))
  t.match(receipt, { status: 'published', roundedRows: 3, rows: { rejected: 1 } })
})

t.test('sums beyond what a floating number holds stay exact', async (t) => {
  const rows = Array.from(
    { length: 40 },
    (_, index) => `A,S,Y-${index},3/4/2024 0:00,999999998.123457`,
  )
  const receipt = await story.loadBytes('DEMO_10032024_Electric.csv', textOf(rows))
  t.match(receipt, { status: 'published', quantity: { accepted: '39999999924.93828' } })
})

t.test('a number of hundreds of noughts is a number', async (t) => {
  const rows = [
    `A,S,Z-1,3/4/2024 0:00,${'0'.repeat(400)}`,
    `A,S,Z-2,3/4/2024 0:00,${'0'.repeat(400)}7`,
  ]
  const receipt = await story.loadBytes('DEMO_11032024_Electric.csv', textOf(rows))
  t.match(receipt, { status: 'published', quantity: { accepted: '7' } })
})

t.test('no fault shows the value of a row: not in logs, queues or receipts', async (t) => {
  const canaries = ['70070070071', '98765.4321', '98765432100']
  const constraint = `CHECK account_number != '${canaries[0]}' AND quantity != ${canaries[1]}`
  await story.store.command({ sql: `ALTER TABLE usage_read ADD CONSTRAINT canary ${constraint}` })
  const seen: string[] = []
  const redis = createProducerConnection(story.stack.redisUrl)
  t.teardown(() => redis.disconnect())
  const files = [
    `${header}\n${canaries[0]},S,CAGE,3/4/2024 0:00,${canaries[1]}\n`,
    `${header}\n"${canaries[0]}",S,CAGE,3/4/2024 0:00," ${canaries[1]}"\n`,
    `${canaries[0]},S,CAGE,3/4/2024 0:00,${canaries[1]}\n`,
  ]
  const reasons = [/STORE_REFUSED: VIOLATED_CONSTRAINT \(469\)/, /VIOLATED_CONSTRAINT/, /HEADER/]
  for (const [index, file] of files.entries()) {
    const name = `DEMO_1203202${index}_Electric.csv`
    const loading = story.loadBytes(name, file)
    let receipt: Receipt | undefined
    void loading.then((one) => (receipt = one))
    while (receipt === undefined) seen.push(await dumpOf(redis))
    t.match(await loading, { status: 'quarantined', reason: reasons[index] })
    seen.push(JSON.stringify({ ...receipt, quantity: [], held: [] }))
  }
  const texts = [...seen, story.logs()].join('\n').replaceAll(/"time":"[^"]*"/g, '')
  t.match(texts, /STORE_REFUSED/, 'they show the faults')
  for (const canary of canaries) t.notOk(texts.includes(canary), canary)
})

import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type CheckOptions, check, toEntries } from '../../pipeline/check.js'
import { sql } from '../../pipeline/store/sql.js'
import { receiptSchema } from '../../schemas/receipt.js'
import { parseProfile } from '../../schemas/settings/profile.js'
import { createLineByHand } from './by-hand.js'

const { context } = await createLineByHand(t)
const { store, folders, log } = context
const profile = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  ingestion: 'registered',
  limits: { chunkBytes: '1 MB', freeDiskBytesMin: '0 B' },
})
const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
const usage = (...rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`

/** Files in the inbox, by name. */
function write(files: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(files).map(([name, text]) => {
    const path = join(folders.inbox, name)
    writeFileSync(path, text)
    return path
  })
}

async function checkFiles(
  t: Test,
  files: Readonly<Record<string, string>>,
  more?: Partial<CheckOptions>,
) {
  const entries = await toEntries(write(files))
  const checked = await check(entries, { profile, store, folders, log, ...more })
  for (const { receipt } of checked) receiptSchema.parse(receipt)
  t.same(readdirSync(folders.landing), [], 'no chunk is left')
  const tables = await store.rows({
    sql: sql`SELECT name FROM system.tables
      WHERE database = currentDatabase() AND startsWith(name, 'staging_')`,
  })
  t.same(tables, [], 'no staging table is left')
  return checked
}

t.test('each file is judged by itself, whoever has its meters', async (t) => {
  const rows = ['A,S,M1,7/1/2025 0:00,1', 'A,S,M1,7/1/2025 0:15,2', 'A,S,M1,7/1/2025 0:30,3']
  const [one, other] = await checkFiles(t, {
    'DEMO_02072025_Electric.csv': usage(...rows),
    'DEMO_02072025_Electric_2.csv': usage(...rows, 'A,S,M1,7/1/2025 0:30,4'),
  })
  t.match(one, {
    receipt: { status: 'published', rows: { read: 3, accepted: 3 }, publishedAt: null },
    badRows: [],
  })
  const second = { read: 4, accepted: 3, duplicate: 0, superseded: 1 }
  t.match(other?.receipt, { status: 'published', rows: second, quantity: { superseded: '3' } })
  t.same(await store.rows({ sql: sql`SELECT * FROM usage_read` }), [], 'nothing is published')
})

t.test('rejected rows of all chunks come with line, column, code and detail', async (t) => {
  const regular = Array.from({ length: 60_000 }, (_, at) => `A,S,R${at},7/1/2025 0:00,1`)
  const odd = ['A,S,ODD,7/1/2025 0:00,1', 'A,S,ODD,7/1/2025 0:07,1']
  const [checked] = await checkFiles(
    t,
    { 'DEMO_02072025_Electric.csv': usage(odd[0] ?? '', ...regular, 'A,S,,soon,1', odd[1] ?? '') },
    { badRowsMax: 2 },
  )
  t.match(checked?.receipt, { status: 'published', rows: { accepted: 60_000, rejected: 3 } })
  t.match(checked?.badRows, [
    { line: 2, column: 'TimeStamp', code: 'INTERVAL_LENGTH', row: odd[0] },
    { line: 60_003, column: 'MeterID', code: 'EMPTY', row: 'A,S,,soon,1' },
  ])
  t.match(checked?.badRows[0]?.detail, /lines 2 and 60004 of meter ODD are 7 minutes apart/)
  t.equal(checked?.badRows.length, 2, 'the first ones')
})

t.test('progress has bytes of each file and rows of all', async (t) => {
  const seen: object[] = []
  const text = usage('A,S,M1,7/1/2025 0:00,1')
  const names = ['DEMO_02072025_Electric.csv', 'DEMO_02072025_Gas.csv'] as const
  await checkFiles(
    t,
    { [names[0]]: text, [names[1]]: text },
    { onProgress: (progress) => seen.push(progress) },
  )
  const bytesTotal = text.length
  const done = { bytes: bytesTotal, bytesTotal }
  t.same(seen[0], { fileName: names[0], bytes: 0, bytesTotal, rows: 0 })
  t.same(seen.at(-1), { fileName: names[1], ...done, rows: 2 })
})

t.test('schedules of one day are judged together', async (t) => {
  const codes = 'RateCode,Description,RateType\nRES,Residential,TOU\n'
  const tou = (code: string) =>
    `RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate\n${code},Peak,0.2,14,19,--01-01,--12-31\n${code},Off-Peak,0.1,19,14,--01-01,--12-31\n`
  const wrong = await checkFiles(t, {
    'DEMO_02072025_RateCodes.csv': codes,
    'DEMO_02072025_RateTou.csv': tou('RSE'),
  })
  for (const { receipt } of wrong) {
    t.match(receipt, {
      status: 'quarantined',
      reason: /DEMO_02072025_RateTou.csv has rate code RSE.* DEMO_02072025_RateCodes.csv/,
    })
  }
  const badRows = wrong[1]?.badRows
  t.match(badRows, [{ line: 2, column: 'RateCode', code: 'NO_RATE_CODE' }, { line: 3 }])
  t.equal(badRows?.[0]?.row, 'RSE,Peak,0.2,14,19,--01-01,--12-31', 'as in the file')
  const apart = await checkFiles(t, {
    'DEMO_03072025_RateTou.csv': tou('RSE'),
    'DEMO_04072025_RateCodes.csv': codes,
  })
  t.match(
    apart,
    [{ receipt: { status: 'published' } }, { receipt: { status: 'published' } }],
    'what is not there may be in force',
  )
})

t.test('a file that changes meanwhile has no verdict', async (t) => {
  const entries = await toEntries(
    write({ 'DEMO_02072025_Electric.csv': usage('A,S,M1,7/1/2025,1') }),
  )
  write({ 'DEMO_02072025_Electric.csv': usage('A,S,M1,7/1/2025,1', 'A,S,M1,7/2/2025,1') })
  await t.rejects(check(entries, { profile, store, folders, log }), { code: 'SOURCE_CHANGED' })
})

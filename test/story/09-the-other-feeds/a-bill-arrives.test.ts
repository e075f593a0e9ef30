/**
 * # 9.2 A bill arrives
 *
 * What: Billing files are published, corrected and compared, and what was replaced stays known.
 * Why: What was billed is the measure of every computed bill.
 * Try: Load `test/golden/DEMO_05022026_Billing.csv` and query `billing_period`.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { balance } from '../../../schemas/receipt.js'
import { openStory } from '../rig/stack.js'

// More than half of the rows of its files may be bad.
const story = await openStory(t, { profile: { usage: { rejectedShareMax: 0.9 } } })

const header =
  'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate'
const bills = [
  'A1,S1,M1,2026-01-05,2026-02-03,512.5,512.5,71.20,2.74,2019-06-01',
  'A2,S2,M2,2026-01-05,2026-02-03,-30,,-4.10,,',
  'A3,S3,M3,2026-01-05,2026-02-03,810,810,112.00,4.31,',
]
const bad = [
  'A4,S4,M4,2026-02-30,2026-03-03,1,,,,',
  'A5,S5,M5,2026-01-05,2026-02-03,1e3,,,,',
  '9.1002E+11,S6,M6,2026-01-05,2026-02-03,7,,,,',
  'A7,S7,M7,2026-02-05,2026-02-03,7,,,,',
  'A8,S8,M8,2026-01-05,2026-02-03,7',
]
const fileOf = (...rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`
const billsNow = () =>
  story.reader.rows<Record<string, unknown>>({
    sql: `SELECT account_number, toString(total_consumption) AS total, toString(cost) AS cost, file_id
      FROM billing_period ORDER BY account_number`,
  })

t.test('a billing file in the inbox is published, its bad rows named', async (t) => {
  const name = 'DEMO_05022026_Billing.csv'
  await story.send(name, fileOf(...bills, ...bad))
  const receipt = await story.receiptOf(name)
  t.match(receipt, {
    fileName: name,
    feed: 'Billing',
    status: 'published',
    rows: { read: 8, accepted: 3, duplicate: 0, superseded: 0, rejected: 5, unregistered: 0 },
    quantity: { read: '1314.5', accepted: '1292.5', rejected: '22' },
    restated: { rows: 0, netQuantity: '0' },
    meters: 3,
  })
  t.ok(balance(receipt))
  t.equal(receipt.firstIntervalStart, null)
  t.equal(
    readFileSync(story.outbox(`${name}.rejects.csv`), 'utf8'),
    [
      '"Line","Column","Code","Detail","Row"',
      `5,"BillingStartDate","NOT_A_DATE","expected a date from 1970 to 2105 written YYYY-MM-DD","${bad[0]}"`,
      `6,"TotalConsumption","NOT_A_NUMBER","expected a plain decimal number","${bad[1]}"`,
      `7,"ContractAccount","SPREADSHEET_NUMBER","identifier was rounded by a spreadsheet","${bad[2]}"`,
      `8,"BillingEndDate","ENDS_BEFORE_START","expected a date that is not before BillingStartDate","${bad[3]}"`,
      `9,"","TOO_FEW_COLUMNS","expected 10 columns, found 6","${bad[4]}"`,
      '',
    ].join('\n'),
  )
  t.match(await billsNow(), [
    { account_number: 'A1', total: '512.5', cost: '71.2', file_id: receipt.fileId },
    { account_number: 'A2', total: '-30', cost: '-4.1' },
    { account_number: 'A3', total: '810', cost: '112' },
  ])
})

t.test('the same file twice is a duplicate, under another name its rows are', async (t) => {
  const bytes = fileOf(...bills, ...bad)
  const again = await story.loadBytes('DEMO_05022026_Billing.csv', bytes)
  t.match(again, { status: 'duplicate', reason: /published as arrival 1 / })
  const renamed = await story.loadBytes('DEMO_05022026_Billing_2.csv', bytes)
  t.match(renamed, {
    status: 'published',
    rows: { read: 8, accepted: 0, duplicate: 3, rejected: 5 },
    quantity: { duplicate: '1292.5' },
  })
  t.equal((await billsNow()).length, 3)
})

t.test('a correction replaces a bill, and what it replaced stays known', async (t) => {
  const corrected = 'A1,S1,M1,2026-01-05,2026-02-03,500,500,69.90,2.69,2019-06-01'
  const stale = 'A1,S1,M1,2026-01-05,2026-02-03,1,1,1,1,2019-06-01'
  const twice = [stale, corrected, corrected, bills[1] as string]
  const receipt = await story.loadBytes('DEMO_06022026_Billing.csv', fileOf(...twice))
  t.match(receipt, {
    status: 'published',
    rows: { read: 4, accepted: 1, duplicate: 2, superseded: 1, rejected: 0 },
    quantity: { read: '971', accepted: '500', duplicate: '470', superseded: '1' },
    restated: { rows: 1, netQuantity: '-12.5' },
  })
  t.ok(balance(receipt))
  t.match((await billsNow())[0], { account_number: 'A1', total: '500', cost: '69.9' })
  const restated = await story.reader.rows<Record<string, Record<string, string>>>({
    sql: 'SELECT * FROM billing_period_restatement',
  })
  t.match(restated, [
    {
      account_number: 'A1',
      meter_id: 'M1',
      billing_start_date: '2026-01-05',
      old: { total_consumption: '512.5', cost: '71.2' },
      new: { total_consumption: '500', cost: '69.9' },
      new_file_id: receipt.fileId,
    },
  ])
})

t.test('a document number makes another bill of the same period', async (t) => {
  const rows = ['D1', 'D2'].map((number) => `${bills[2]},${number}`)
  const text = `${header},DocumentNumber\n${rows.join('\n')}\n`
  const receipt = await story.loadBytes('DEMO_07022026_Billing.csv', text)
  t.match(receipt, { status: 'published', rows: { read: 2, accepted: 2 } })
  t.equal((await billsNow()).filter((one) => one['account_number'] === 'A3').length, 3)
})

t.test('a file with another header, or with too many bad rows, is quarantined', async (t) => {
  const other = await story.loadBytes('DEMO_08022026_Billing.csv', `ContractAccount\n${bills[0]}\n`)
  t.match(other, {
    status: 'quarantined',
    reason: /expected ContractAccount,ExternalSiteID,.*and optionally DocumentNumber/,
  })
  const rows = Array.from({ length: 11 }, () => bad[0] as string)
  const wrong = await story.loadBytes('DEMO_09022026_Billing.csv', fileOf(...rows))
  t.match(wrong, {
    status: 'quarantined',
    rows: { read: 11, rejected: 11 },
    quantity: { rejected: '11' },
  })
  t.match(wrong.reason, /all 11 rows are not usable/)
})

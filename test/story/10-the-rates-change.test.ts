/**
 * # 10. The rates change
 *
 * What: Schedules replace each other as a whole, and the rate files of a day are one set.
 * Why: Half of a new rate is worse than the old one.
 * Try: Load rate files with a gap from 19 to 23 and read the reason.
 */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Receipt } from '../../schemas/receipt.js'
import { openStory, until } from './rig/stack.js'

const story = await openStory(t, {
  profile: {
    rates: { quietMinutes: 0.25 },
    fileNames: [{ like: '<Feed>-<YYYY>-<MM>-<DD>' }],
  },
})

const lines = (...rows: readonly string[]) => `${rows.join('\n')}\n`
const cycles = (...rows: readonly string[]) => lines('BillingCycleID,StartDate,EndDate', ...rows)
const codes = (...rows: readonly string[]) => lines('RateCode,Description,RateType', ...rows)
const tou = (...rows: readonly string[]) =>
  lines('RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate,DayType', ...rows)
const find = (sql: string) => story.reader.rows<Record<string, string>>({ sql })
/** Hands over the rate files of a day as one set, and waits for their receipts. */
const loadSet = async (day: string, files: Readonly<Record<string, string>>) => {
  const names = Object.keys(files).map((feed) => [feed, `DEMO_${day}_${feed}.csv`] as const)
  for (const [feed, name] of names) await story.send(name, files[feed] ?? '')
  await story.send(`DEMO_${day}_Rates.done`, '')
  return Promise.all(names.map(([, name]) => story.receiptOf(name)))
}
const statuses = (receipts: readonly Receipt[]) => receipts.map(({ status }) => status)

t.test('a schedule replaces the one before as a whole, older periods stay', async (t) => {
  const first = await story.loadBytes(
    'DEMO_01012026_BillingCycles.csv',
    cycles('7,2025-12-05,2026-01-04', '7,2026-01-05,2026-02-03', '8,2026-01-05,2026-02-03'),
  )
  t.match(first, { status: 'published', rows: { read: 3, accepted: 3 }, quantity: null })
  const second = await story.loadBytes(
    'DEMO_02012026_BillingCycles.csv',
    cycles('7,2026-01-05,2026-02-02', '7,2026-02-03,2026-03-05'),
  )
  t.match(second, { status: 'published', rows: { read: 2, accepted: 2 } })
  t.same(
    await find(`SELECT billing_cycle_id AS id, toString(start_date) AS first, toString(last_date) AS last
      FROM billing_cycle ORDER BY id, first`),
    [
      { id: '7', first: '2025-12-05', last: '2026-01-04' },
      { id: '7', first: '2026-01-05', last: '2026-02-02' },
      { id: '7', first: '2026-02-03', last: '2026-03-05' },
    ],
  )
})

t.test('what equals the version in force is a duplicate, an earlier version is not', async (t) => {
  const same = cycles('7,2026-02-03,2026-03-05', '7,2026-01-05,2026-02-02')
  const again = await story.loadBytes('DEMO_03012026_BillingCycles.csv', same)
  t.match(again, { status: 'duplicate', reason: /arrival 2 / })
  const back = await story.loadBytes(
    'DEMO_01012026_BillingCycles.csv',
    cycles('7,2025-12-05,2026-01-04', '7,2026-01-05,2026-02-03', '8,2026-01-05,2026-02-03'),
  )
  t.match(back, { status: 'published', rows: { accepted: 3 } })
  t.equal((await find('SELECT * FROM billing_cycle')).length, 3)
})

t.test('a gap keeps all of it out and is named with both dates', async (t) => {
  const gap = cycles('7,2026-01-05,2026-02-03', '7,2026-02-06,2026-03-05')
  const receipt = await story.loadBytes('DEMO_04012026_BillingCycles.csv', gap)
  t.match(receipt, {
    status: 'quarantined',
    rows: { read: 1, rejected: 1, accepted: 0 },
    held: { rows: 1 },
  })
  t.match(receipt.reason, /SCHEDULE: .*line 3: there is a gap between .* 2026-02-03 .* 2026-02-06/)
  t.match(
    await find(
      `SELECT line, column_name, code, raw FROM rejected_row WHERE file_id = '${receipt.fileId}'`,
    ),
    [{ line: 3, column_name: 'StartDate', code: 'PERIOD_GAP', raw: '7,2026-02-06,2026-03-05' }],
  )
  t.equal((await find('SELECT * FROM billing_cycle')).length, 3, 'the version in force stays')
})

const goodCodes = codes('RES,Residential,TOU', 'FLAT,Flat,Flat')
const goodTou = tou(
  'RES,Peak,0.2134,14,19,2026-01-01,,Weekday',
  'RES,Off-Peak,0.11,19,14,2026-01-01,,Weekday',
)
const flat = lines('RateCode,Amount,RateStartDate,RateEndDate', 'FLAT,0.15,2026-01-01,')

t.test('a hole from 19 to 23 on working days is named, and its set refused', async (t) => {
  const hole = tou(
    'RES,Day,0.2,7,19,2026-01-01,,Weekday',
    'RES,Night,0.1,23,7,2026-01-01,,Weekday',
    'RES,Weekend,0.1,0,24,2026-01-01,,WeekendHoliday',
  )
  const receipts = await loadSet('05012026', {
    RateCodes: goodCodes,
    RateTou: hole,
    RateFlat: flat,
  })
  t.same(statuses(receipts), ['quarantined', 'quarantined', 'quarantined'])
  for (const { reason } of receipts) {
    t.match(
      reason,
      /RateTou.csv line 2: RES Energy has no price on working days from 19:00 to 23:00/,
    )
  }
  t.same(await find('SELECT * FROM rate_code'), [])
})

t.test('a rate row without its rate code names both files', async (t) => {
  const [, other] = await loadSet('06012026', {
    RateCodes: codes('FLAT,Flat,Flat'),
    RateTou: goodTou,
  })
  t.match(
    other?.reason,
    /DEMO_06012026_RateTou.csv has rate code RES, .* DEMO_06012026_RateCodes.csv/,
  )
})

t.test('files of a set wait for their done-file and are published as one', async (t) => {
  await story.send('DEMO_07012026_RateCodes.csv', goodCodes)
  await story.send('DEMO_07012026_RateTou.csv', goodTou)
  await story.send('DEMO_07012026_RateFlat.csv', flat)
  await story.send('DEMO_07012026_Rates.done', '')
  for (const name of ['RateCodes', 'RateTou', 'RateFlat']) {
    t.match(await story.receiptOf(`DEMO_07012026_${name}.csv`), { status: 'published' }, name)
  }
  const [codeRow] = await find('SELECT toString(max(published_at)) AS at FROM rate_code')
  const [touRow] = await find('SELECT toString(max(published_at)) AS at FROM rate_tou')
  t.same(codeRow, touRow, 'at the same instant')
  await until(() => !existsSync(join(story.home.inbox, 'DEMO_07012026_Rates.done')))
  t.same(readdirSync(story.home.inbox), [], 'the done-file goes with them')
})

t.test('a vendor with other names has them known as one set, too', async (t) => {
  const names = ['RateCodes', 'RateTou', 'RateFlat'].map((feed) => `${feed}-2026-01-07.csv`)
  const [first = '', ...others] = names
  const dearer = goodTou.replace('0.2134', '0.2234')
  await story.send(first, codes('RES,Households,TOU', 'FLAT,Flat,Flat'))
  await story.send(others[0] ?? '', dearer)
  await story.send(others[1] ?? '', flat.replace('0.15', '0.16'))
  await story.send('Rates-2026-01-07.done', '')
  for (const name of names) t.match(await story.receiptOf(name), { status: 'published' }, name)
  t.same(
    await find(`SELECT count(DISTINCT published_at) AS instants FROM file_load
      WHERE endsWith(file_name, '-2026-01-07.csv')`),
    [{ instants: '1' }],
  )
  await until(() => readdirSync(story.home.inbox).length === 0)
})

t.test('a file without its set is judged with what is in force', async (t) => {
  const receipt = await story.loadBytes(
    'DEMO_08012026_RateTou.csv',
    tou('RES,Peak,0.25,14,19,2026-06-01,,Weekday', 'RES,Off-Peak,0.12,19,14,2026-06-01,,Weekday'),
  )
  t.match(receipt, { status: 'published', rows: { accepted: 2 } })
  const lone = await story.loadBytes('DEMO_09012026_RateCodes.csv', codes('FLAT,Flat,Flat'))
  t.match(lone, { status: 'quarantined', reason: /in force: RateTou in force has rate code RES/ })
  await story.send('DEMO_10012026_Holidays.csv', lines('Date,Name', '2026-07-03,Independence Day'))
  t.match(
    await story.receiptOf('DEMO_10012026_Holidays.csv'),
    { status: 'published' },
    'after the quiet minutes',
  )
})

t.test('cancelled and rebilled bills stand apart, overlapping periods are reported', async (t) => {
  const header =
    'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate,DocumentNumber'
  await story.loadBytes(
    'DEMO_05022026_Billing.csv',
    lines(
      header,
      'A1,S1,M1,2026-01-05,2026-02-03,500,,70.00,,,D1',
      'A1,S1,M1,2026-01-05,2026-02-03,-500,,-70.00,,,D2',
      'A1,S1,M1,2026-01-05,2026-02-03,480,,67.20,,,D3',
      'A1,S1,M1,2026-02-01,2026-03-03,490,,68.60,,,D4',
      'A2,S2,M2,2026-01-05,2026-02-03,-20,,-2.80,,,D5',
    ),
  )
  const history = await find(
    'SELECT document_number AS number, state FROM bill_history ORDER BY number',
  )
  t.same(
    history.map(({ number, state }) => `${number} ${state}`),
    ['D1 cancelled', 'D2 cancellation', 'D3 current', 'D4 current', 'D5 current'],
  )
  t.match(await find('SELECT * FROM bill_overlap'), [
    { meter_id: 'M1', document_number: 'D3', other_document_number: 'D4' },
  ])
})

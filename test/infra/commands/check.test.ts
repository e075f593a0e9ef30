import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { receiptSchema } from '../../../schemas/receipt.js'
import { header } from '../../story/rig/stack.js'
import { tieline } from '../command-line.js'

const rows = Array.from({ length: 96 }, (_, at) => {
  const time = `${Math.floor(at / 4)}:${String((at % 4) * 15).padStart(2, '0')}`
  return `A1,S1,M1,7/1/2025 ${time},0.5`
})
const good = [header, ...rows].join('\n')
const bad = [header, ...rows, ...Array.from({ length: 25 }, () => 'A1,S1,M1,soon,1')].join('\n')

t.test('files are checked where they lie, without any server', async (t) => {
  const folder = t.testdir({
    'DEMO_02072025_Electric.csv': good,
    'DEMO_02072025_Electric_2.csv': bad,
    'DEMO_02072025_Electric_3.csv.gz': gzipSync(`${good}\nA1,S1,M1,7/2/2`),
    'OTHER_02072025_Electric.csv': good,
    'usage.csv': good,
  })
  const at = (name: string) => join(folder, name)
  const home = at('data')

  const one = await tieline('check', at('DEMO_02072025_Electric.csv'), '--json', '--home', home)
  t.equal(one.code, 0, one.stderr)
  const [{ receipt, badRows }] = JSON.parse(one.stdout)
  t.match(receiptSchema.parse(receipt), {
    status: 'published',
    rows: { read: 96, accepted: 96 },
    quantity: { accepted: '48' },
    firstIntervalStart: '2025-07-01T04:00:00.000Z',
    lastIntervalEnd: '2025-07-02T04:00:00.000Z',
    notes: ['the last row has no line end'],
    publishedAt: null,
  })
  t.same(badRows, [])
  t.notOk(existsSync(home), 'no data folder is made')

  const two = await tieline(
    'check',
    at('DEMO_02072025_Electric.csv'),
    at('DEMO_02072025_Electric_2.csv'),
  )
  t.equal(two.code, 2, 'one would be quarantined')
  t.match(two.stdout, /TOO_MANY_REJECTED: 25 of 121 rows/)
  t.match(two.stdout, /20 of 25 rejected rows/)
  t.match(two.stdout, / 98 {2}TimeStamp {2}NOT_A_TIME/)
  t.notMatch(two.stdout, /\n +118 /, 'the first 20 only')

  const cut = await tieline('check', at('DEMO_02072025_Electric_3.csv.gz'))
  t.match(cut, { code: 2, stdout: /TRUNCATED/ })
  const foreign = await tieline('check', at('OTHER_02072025_Electric.csv'))
  t.match(foreign, {
    code: 2,
    stdout: /quarantined[\s\S]*COMPANY_CODE: OTHER is not in companyCodes/,
  })
  t.match(await tieline('check', at('usage.csv')), { code: 2, stdout: /FILE_NAME/ })
})

t.test('what cannot be read is a fault', async (t) => {
  const gone = await tieline('check', join(t.testdir(), 'DEMO_02072025_Electric.csv'))
  t.match(gone, { code: 1, stderr: /SOURCE_UNREACHABLE/ })
  const folder = t.testdir({ 'DEMO_02072025_Electric.csv': {} })
  const none = await tieline('check', join(folder, 'DEMO_02072025_Electric.csv'))
  t.match(none, { code: 1, stderr: /has no file to check/ })
})

t.test('a folder is read as a set, whatever feeds it holds', async (t) => {
  const codes = 'RateCode,Description,RateType\nRES,Residential,TOU\n'
  const tou = (code: string) =>
    `RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate\n${code},Peak,0.2,14,19,--01-01,--12-31\n${code},Off-Peak,0.1,19,14,--01-01,--12-31\n`
  const cycles =
    'BillingCycleID,StartDate,EndDate\n7,2026-01-05,2026-02-03\n7,2026-02-04,2026-03-05\n'
  const folder = t.testdir({
    good: {
      'DEMO_02072025_RateCodes.csv': codes,
      'DEMO_02072025_RateTou.csv': tou('RES'),
      'DEMO_02072025_BillingCycles.csv': cycles,
      'DEMO_02072025_Electric.csv': good,
      'DEMO_02072025_Rates.done': '',
      'DEMO_01072025_Electric.csv.receipt.json': '{}',
    },
    bad: { 'DEMO_02072025_RateCodes.csv': codes, 'DEMO_02072025_RateTou.csv': tou('RSE') },
    lone: { 'DEMO_02072025_RateTou.csv': tou('RSE') },
  })
  const all = await tieline('check', join(folder, 'good'), '--json')
  t.equal(all.code, 0, all.stderr + all.stdout)
  t.equal(JSON.parse(all.stdout).length, 4)
  const wrong = await tieline('check', join(folder, 'bad'), '--json')
  t.equal(wrong.code, 2)
  for (const { receipt } of JSON.parse(wrong.stdout)) {
    t.match(receiptSchema.parse(receipt), {
      status: 'quarantined',
      reason: /DEMO_02072025_RateTou.csv has rate code RSE.* DEMO_02072025_RateCodes.csv/,
    })
  }
  const [, { badRows }] = JSON.parse(wrong.stdout)
  t.match(badRows, [{ line: 2, column: 'RateCode', code: 'NO_RATE_CODE' }, { line: 3 }])
  t.equal(badRows[0].row, 'RSE,Peak,0.2,14,19,--01-01,--12-31', 'as in the file')
  const lone = await tieline('check', join(folder, 'lone'))
  t.equal(lone.code, 0, 'what is not there may be in force')
})

/**
 * # 6.6 A meter is exchanged
 *
 * What: The reads and bills of an old meter and of the one that replaces it in the middle of a period.
 * Why: The customer stays: no read may be missing from his history, and no bill may lack any.
 * Try: Send reads of a new meter under the account and site of another, and query `tenancy_event`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import { bill } from '../../../pipeline/bills/run.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { createZone } from '../../../schemas/time/zone.js'
import { type At, customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { header, openStory, storyProfile } from '../rig/stack.js'

const story = await openStory(t)
const file = (...lines: readonly string[]) => `${lines.join('\n')}\n`
const see = (day: string, at: Omit<At, 'clientId'>) =>
  register(
    registeringAt(story.store, () => new Date(`${day}T16:00:00Z`)),
    [customerAt({ clientId: `C${at.accountNumber}`, ...at })],
  )

/** The last read of the old meter and the first one of the new meter, as the guide has them. */
const guide = readFileSync(join(packageRoot(import.meta.url), 'infra/guides/send.md'), 'utf8')
const [, example = ''] = /## When a meter is exchanged.*?```csv\n(.*?)```/s.exec(guide) ?? []
const [, lastOfOld = '', firstOfNew = ''] = example.split('\n')
const partsOf = (row: string) => row.split(',')
const [accountNumber = '', externalSiteId = '', oldMeter = ''] = partsOf(lastOfOld)
const [, , newMeter = ''] = partsOf(firstOfNew)
const place = { accountNumber, externalSiteId }

/** Quarter hours from 5 February on, 0.1 each: 520 of the old meter, 2,360 of the new one. */
const rows = Array.from({ length: 30 * 96 }, (_, at) => {
  const from = new Date(Date.UTC(2026, 1, 5) + at * 900_000)
  const clock = `${from.getUTCHours()}:${String(from.getUTCMinutes()).padStart(2, '0')}`
  const stamp = `${from.getUTCMonth() + 1}/${from.getUTCDate()}/2026 ${clock}`
  const start = [accountNumber, externalSiteId, at < 520 ? oldMeter : newMeter, stamp].join(',')
  return [lastOfOld, firstOfNew].find((row) => row.startsWith(`${start},`)) ?? `${start},0.1`
})

t.test('reads of both meters are the customer’s, before a record lists the new one', async (t) => {
  await see('2026-01-20', { ...place, meterId: oldMeter })
  t.ok(rows[519] === lastOfOld && rows[520] === firstOfNew, 'the rows of the guide')
  const receipts = await story.loadAll({
    'DEMO_07032026_Electric.csv': file(header, ...rows),
    'DEMO_07032026_BillingCycles.csv': file(
      'BillingCycleID,StartDate,EndDate',
      '7,2026-02-05,2026-03-06',
    ),
    'DEMO_07032026_RateCodes.csv': file('RateCode,Description,RateType', 'RES,Residential,Flat'),
    'DEMO_07032026_RateFlat.csv': file(
      'RateCode,Amount,RateStartDate,RateEndDate',
      'RES,0.1,2026-01-01,',
    ),
    'DEMO_07032026_RateFixed.csv': file(
      'RateCode,Name,Kind,Basis,Amount,Taxable,RateStartDate,RateEndDate',
      'RES,Service,Service,PerMonth,9,true,2026-01-01,',
      'RES,Customer,Service,PerPeriod,12,true,2026-01-01,',
    ),
  })
  for (const { status } of receipts) t.equal(status, 'published')
  const own = await story.reader.rows({
    sql: `SELECT meter_id AS meter, toUInt32(count()) AS reads, toString(sum(quantity)) AS kwh
      FROM registered_usage WHERE has(client_ids, 'C${accountNumber}') GROUP BY meter ORDER BY meter`,
  })
  t.same(own, [
    { meter: oldMeter, reads: 520, kwh: '52.019' },
    { meter: newMeter, reads: 2_360, kwh: '236.024' },
  ])
})

async function bills() {
  const profile = storyProfile()
  const context = { store: story.store, profile, zone: createZone(profile.timeZone) }
  await bill({ ...context, now: () => new Date() }, { cycleId: '7', start: '2026-02-05' })
  return story.reader.rows({
    sql: `SELECT b.meter_id AS meter, toString(any(b.start_date)) AS first, toString(any(b.last_date)) AS last,
        any(b.status) AS status, toString(any(b.total)) AS total,
        arrayMap(line -> toFloat64(line.2), arraySort(groupArrayIf((l.line_number, l.amount), l.line_number > 0))) AS lines
      FROM projected_bill AS b LEFT JOIN projected_bill_line AS l ON l.meter_id = b.meter_id
      WHERE b.account_number = '${accountNumber}' GROUP BY meter ORDER BY meter`,
  })
}
const ofNew = { meter: newMeter, first: '2026-02-10', last: '2026-03-06', status: 'computed' }

t.test('without a record the old meter lacks the reads of the rest of the period', async (t) => {
  t.match(await bills(), [
    { meter: oldMeter, first: '2026-02-05', last: '2026-03-06', status: 'sparse', total: null },
    ofNew,
  ])
})

t.test('a record of the day ends it: both bills are complete, of their days', async (t) => {
  await see('2026-02-10', { ...place, meterId: newMeter })
  const old = { meter: oldMeter, first: '2026-02-05', last: '2026-02-10', status: 'computed' }
  t.same(await bills(), [
    { ...old, total: '19', lines: [5.2, 1.8, 12] },
    { ...ofNew, total: '43.1', lines: [23.6, 7.5, 12] },
  ])
})

t.test('until a record lists the new meter it has the unit of the old one', async (t) => {
  const wh = { accountNumber: 'W', unitOfMeasure: 'Wh' }
  await see('2026-01-20', { ...wh, meterId: 'OLD' })
  const both = ['W,S,OLD,2/10/2026 9:45,119', 'W,S,NEW,2/10/2026 10:00,124']
  await story.loadBytes('DEMO_08032026_Electric.csv', file(header, ...both))
  const shown = () =>
    story.reader.rows({
      sql: `SELECT meter_id AS meter, concat(toString(quantity), ' ', unit) AS shown FROM usage
        WHERE account_number = 'W' ORDER BY local_start`,
    })
  const old = { meter: 'OLD', shown: '0.119 kWh' }
  t.same(await shown(), [old, { meter: 'NEW', shown: '0.124 kWh' }])
  await see('2026-02-10', { ...wh, unitOfMeasure: 'kWh', meterId: 'NEW' })
  t.same(await shown(), [old, { meter: 'NEW', shown: '124 kWh' }])
})

/**
 * # 6.5 The rate or the cycle changes
 *
 * What: An account gets another rate and then another cycle; reads and bills keep those of their time.
 * Why: A past bill must be computed with what held then, however often the CIS changes its record.
 * Try: Change `rateCode` of a customer in the CIS, ask for the customer, and query `registered_usage`.
 */
import t from 'tap'
import { bill } from '../../../pipeline/bills/run.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { createZone } from '../../../schemas/time/zone.js'
import { customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { header, openStory, storyProfile } from '../rig/stack.js'

const options = { profile: { usage: { intervals: { Electric: ['day', 900] } } } }
const story = await openStory(t, options)
const file = (...lines: readonly string[]) => `${lines.join('\n')}\n`

/** The record that the CIS has of the customer on a day of 2024. */
function record(day: string, rateCode: string, billingCycleId: string) {
  const one = customerAt({ clientId: 'rosa', accountNumber: 'A', meterId: 'M', rateCode })
  const meters = one.meters.map((meter) => ({ ...meter, billingCycleId }))
  const now = () => new Date(`2024-${day}T16:00:00Z`)
  return register(registeringAt(story.store, now), [{ ...one, meters }])
}

/** 10 kWh on each day of June and July. */
const reads = Array.from({ length: 61 }, (_, at) => {
  return `A,S,M,${at < 30 ? `6/${at + 1}` : `7/${at - 29}`}/2024,10`
})

t.test('rates, cycles and two months of reads', async (t) => {
  await record('05-20', 'LOW', '7')
  const receipts = await story.loadAll({
    'DEMO_01082024_RateCodes.csv': file(
      'RateCode,Description,RateType',
      ...['LOW,Low,Flat', 'HIGH,High,Flat'],
    ),
    'DEMO_01082024_RateFlat.csv': file(
      'RateCode,Amount,RateStartDate,RateEndDate,Component',
      ...['LOW,0.1,2024-01-01,,', 'HIGH,0.3,2024-01-01,,'],
    ),
    'DEMO_01082024_BillingCycles.csv': file(
      'BillingCycleID,StartDate,EndDate',
      ...['7,2024-06-01,2024-06-30', '7,2024-07-01,2024-07-31', '8,2024-07-11,2024-08-09'],
    ),
    'DEMO_01082024_Electric.csv': file(header, ...reads),
  })
  for (const { status } of receipts) t.equal(status, 'published')
})

/** Days by rate and cycle, as readers see them. */
const codes = () =>
  story.reader.rows({
    sql: `SELECT rate_code AS rate, billing_cycle_id AS cycle, toString(min(local_day)) AS first,
        toString(max(local_day)) AS last
      FROM registered_usage GROUP BY rate, cycle ORDER BY first`,
  })

/** Bills the periods, and returns what readers see of them. */
async function bills(...periods: readonly (readonly [cycleId: string, start: string])[]) {
  const profile = storyProfile({ profile: { ...options.profile, billing: { presentShareMin: 0 } } })
  const zone = createZone(profile.timeZone)
  const context = { store: story.store, profile, zone, now: () => new Date() }
  for (const [cycleId, start] of periods) await bill(context, { cycleId, start })
  const rows = await story.reader.rows<Readonly<Record<string, string>>>({
    sql: `SELECT billing_cycle_id AS cycle, toString(start_date) AS first, toString(last_date) AS last,
        arrayStringConcat(rate_codes, '+') AS rates, toString(quantity) AS kwh, toString(total) AS total
      FROM projected_bill ORDER BY first`,
  })
  return rows.map((row) => Object.values(row).join(' '))
}

const june = '7 2024-06-01 2024-06-30 LOW 300 30'

t.test('a new rate is priced from its day on, and the day before is not', async (t) => {
  const periods = [
    ['7', '2024-06-01'],
    ['7', '2024-07-01'],
  ] as const
  t.same(await bills(...periods), [june, '7 2024-07-01 2024-07-31 LOW 310 31'])
  await record('07-06', 'HIGH', '7')
  t.same(await codes(), [
    { rate: 'LOW', cycle: '7', first: '2024-06-01', last: '2024-07-05' },
    { rate: 'HIGH', cycle: '7', first: '2024-07-06', last: '2024-07-31' },
  ])
  // 5 days of 10 kWh at 10 cents, and 26 at 30.
  t.same(await bills(...periods), [june, '7 2024-07-01 2024-07-31 LOW+HIGH 310 83'])
})

t.test('a new cycle ends the bill of the old one, and no day is billed twice', async (t) => {
  await record('07-21', 'HIGH', '8')
  t.same((await codes()).slice(1), [
    { rate: 'HIGH', cycle: '7', first: '2024-07-06', last: '2024-07-20' },
    { rate: 'HIGH', cycle: '8', first: '2024-07-21', last: '2024-07-31' },
  ])
  t.same(await bills(['7', '2024-06-01'], ['7', '2024-07-01'], ['8', '2024-07-11']), [
    june,
    '7 2024-07-01 2024-07-20 LOW+HIGH 200 50',
    '8 2024-07-21 2024-08-09 HIGH 110 33',
  ])
})

t.test('a consumer who copies the reads learns which days cost otherwise now', async (t) => {
  const changes = await story.reader.rows({
    sql: `SELECT meter_id AS meter, toString(local_day) AS first, client_ids_after AS clients
      FROM usage_change WHERE cause = 'cost' ORDER BY first`,
  })
  t.same(changes, [
    { meter: 'M', first: '2024-07-06', clients: ['rosa'] },
    { meter: 'M', first: '2024-07-21', clients: ['rosa'] },
  ])
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readQuestions } from '../../../benchmarks/queries/questions.js'
import { registerFile } from '../../../infra/commands/register.js'
import { sampleFaults } from '../../../infra/demo/sample/bills.js'
import { sampleUsage } from '../../../infra/demo/sample/usage.js'
import {
  sampleFileNames,
  sampleSendings,
  writeSampleCustomers,
  writeSampleFiles,
} from '../../../infra/demo/sample/write.js'
import { compare } from '../../../pipeline/bills/compare/compare.js'
import { bill } from '../../../pipeline/bills/run.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { createZone } from '../../../schemas/time/zone.js'
import { customerAt } from '../../pipeline/customers/registering.js'
import { createFolder } from '../../rig/folder.js'
import { header, openStory, storyProfile } from '../../story/rig/stack.js'

const settings = {
  limits: { chunkBytes: '64 MB' },
  profile: {
    usage: { intervals: { Electric: [900, 3_600], Gas: ['day', 3_600] } },
    // Nothing is billed or compared unless it is asked for.
    billing: { daysBackMax: 1, dailyHour: 23 },
  },
}
const story = await openStory(t, settings)
const profile = storyProfile(settings)
const zone = createZone(profile.timeZone)
const { store } = story
const at = (day: string) => ({ store, profile, zone, now: () => new Date(`${day}T17:00:00Z`) })

const { customers, deliveries } = sampleUsage()
const ofOctober = deliveries.filter(({ firstDay }) => firstDay === '2026-10-01')
const [hourly = [], quarterly = [], gas = []] = ofOctober.map(({ meters }) => meters)
const before = new Map(
  deliveries
    .filter((one) => !ofOctober.includes(one))
    .flatMap(({ meters }) => meters.map((one) => [one.meterId, one.accountNumber] as const)),
)
const meters = [...hourly, ...quarterly, ...gas]
const moved = meters.filter((one) => before.get(one.meterId) !== one.accountNumber)
/** A customer with a final status holds nothing any more. */
const ended = new Set(
  customers
    .filter(({ AcctStatus }) => AcctStatus === 'F')
    .flatMap(({ customerSites: [site] }) => site?.meters.map((one) => one.meterId) ?? []),
)
const held = meters.filter(({ meterId }) => !ended.has(meterId))
const stayed = hourly.filter((one) => !moved.includes(one))
const faults = sampleFaults()

/** Meters of the sample to which something happens here, and one that the sample does not have. */
const [exporter, lengthened] = stayed
const corrected = stayed.find(
  ({ rateCode, billingCycleId, meterId }) =>
    rateCode === 'RES-FLAT' &&
    billingCycleId === '7' &&
    meterId !== exporter?.meterId &&
    meterId !== lengthened?.meterId,
)
if (exporter === undefined || lengthened === undefined || corrected === undefined) {
  throw new Error('the sample lacks a meter that this test needs')
}
const newcomer = customerAt({
  clientId: '7000009999',
  accountNumber: '910020009999',
  meterId: '55009999',
  externalSiteId: '5113009999',
  rateCode: 'RES-FLAT',
})
const newMeter = { ...newcomer.meters[0], meterId: '55009999' }
type Placed = Readonly<{ accountNumber?: string; externalSiteId?: string; meterId: string }>
const readOf = (meter: Placed, stamp: string, quantity: number) =>
  `${meter.accountNumber},${meter.externalSiteId},${meter.meterId},${stamp},${quantity}`
const hours = (meter: Placed, day: string, quantities: readonly number[]) =>
  quantities.map((quantity, hour) => readOf(meter, `${day} ${hour}:00`, quantity))
const day = (quantity: number, count = 24) => new Array<number>(count).fill(quantity)

await writeSampleCustomers(join(story.home.path, 'customers.jsonl'))
await registerFile(
  { ...story.stack, profile, home: story.home },
  {
    file: join(story.home.path, 'customers.jsonl'),
    options: { json: false },
    say: (text) => t.comment(text),
  },
)
await register(at('2026-11-01'), [newcomer])
for (const { files } of sampleSendings()) {
  await writeSampleFiles(story.home.inbox, files)
  for (const name of files) await story.receiptOf(name)
}
const copies = createFolder(t)
const billing = sampleFileNames().find((name) => name.endsWith('_Billing.csv')) ?? ''
await writeSampleFiles(copies, [billing])
const bills = readFileSync(join(copies, billing), 'utf8').split('\n')

const exported = [11, 12, 13, 14].map((hour) => readOf(exporter, `10/20/2026 ${hour}:00`, -300))
const quarters = Array.from({ length: 96 }, (_, slot) =>
  readOf(lengthened, `10/31/2026 ${slot >> 2}:${String((slot % 4) * 15).padStart(2, '0')}`, 0.2),
)
const ofNewcomer = Array.from({ length: 30 }, (_, at) =>
  hours(newMeter, `10/${at + 1}/2026`, day(0.5, at === 29 ? 12 : 24)),
)
const more = [header, ...exported, ...quarters, ...ofNewcomer.flat(), '']
await story.loadBytes('DEMO_02112026_Electric.csv', more.join('\n'))
const unread =
  'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate'
await story.loadBytes(
  'DEMO_02112026_Billing.csv',
  `${unread}\n910020008888,5113008888,55008888,2026-09-01,2026-09-30,400,400,61.5,2,\n`,
)
const cycles = new Map([
  ['7', '2026-09-07'],
  ...faults.map((one) => [one.cycle, one.period] as const),
])
for (const [cycleId, start] of cycles) await bill(at('2026-11-03'), { cycleId, start })
const correction = hours(corrected, '9/20/2026', day(5))
await story.loadBytes('DEMO_04112026_Electric.csv', [header, ...correction, ''].join('\n'))
const restated = await bill(at('2026-11-04'), { cycleId: '7', start: '2026-09-07' })
const open = { cycleId: '1', start: '2026-10-01' }
const estimated = await bill(at('2026-10-20'), open)
const final = await bill(at('2026-11-04'), open)
await bill(at('2026-11-01'), { cycleId: '20', start: '2026-10-20' })
await compare(at('2026-11-04'), { cycleId: '7' })

type Row = Readonly<Record<string, unknown>>
const byNumber = new Map(readQuestions().map((one) => [one.number, one]))
const isFalling = (rows: readonly Row[], column: string) =>
  rows.every((row, at) => at === 0 || Number(row[column]) <= Number(rows[at - 1]?.[column]))
const idsOf = (rows: readonly Row[]) => rows.map((row) => row['meter_id'])
const total = (rows: readonly Row[], column: string) =>
  rows.reduce((sum, row) => sum + Number(row[column]), 0)

/** What is true of the result of each query, from what the sample and this test have put in. */
const truths: Readonly<Record<string, (t: Test, rows: readonly Row[]) => void>> = {
  '1': (t, [row]) => {
    t.equal(row?.['rows'], row?.['reads'], 'each read once')
    t.equal(Number(row?.['meters']), meters.length + 1)
  },
  '1.2': (t, rows) => {
    const handed = rows.filter(({ client_ids_before: one }) => (one as string[]).length > 0)
    const found = new Set(idsOf(handed))
    t.ok(
      moved.every(({ meterId }) => found.has(meterId)),
      'the meters that another tenant took over',
    )
  },
  '2': (t, rows) =>
    t.same(new Set(idsOf(rows)), new Set([newMeter, ...held].map((one) => one.meterId))),
  '3': (t, rows) =>
    t.match(rows, [
      { billing_cycle_id: '7', local_day: '2026-10-30', silent: '0', partial: '1' },
      { billing_cycle_id: '7', local_day: '2026-10-31', silent: '1', partial: '0' },
    ]),
  '4': (t, rows) =>
    t.same(rows, [
      {
        meter_id: lengthened.meterId,
        commodity: 'Electric',
        lengths: [
          ['2026-10-01', '2026-10-30', 3_600, '30'],
          ['2026-10-31', '2026-10-31', 900, '1'],
        ],
      },
    ]),
  '5': (t, rows) =>
    t.same(
      rows.map(({ file_name, reads }) => `${file_name} ${reads}`),
      ['03', '02', '04'].map((one, at) => `DEMO_${one}112026_Electric.csv ${[4, 4, 24][at]}`),
    ),
  '5.2': (t, rows) => {
    const files = ['DEMO_04112026_Electric.csv']
    t.match(rows, [{ meter_id: corrected.meterId, start_date: '2026-09-07', files, reads: '24' }])
    const change = Number(rows[0]?.['new_quantity']) - Number(rows[0]?.['old_quantity'])
    t.equal(change.toFixed(3), Number(rows[0]?.['reads_changed_by']).toFixed(3))
  },
  '6': (t, rows) => {
    t.equal(rows.length, 3 * 2 * 24, 'each hour of both kinds of day of three rates')
    for (const rate of ['RES-FLAT', 'RES-TIER', 'RES-TOU']) {
      const own = rows.filter((row) => row['rate_code'] === rate && row['is_weekend'] === 0)
      const kw = own.map((row) => Number(row['kw']))
      t.equal(kw.indexOf(Math.max(...kw)), 18, `${rate} is highest in the evening`)
      t.ok(Math.abs((kw[18] ?? 0) - 2.88) < 0.1, 'the sample draws around 0.72 kWh in 15 minutes')
    }
  },
  '7': (t, rows) => {
    t.equal(rows.length, 10)
    t.ok(rows.every((row) => / 18:00:00$/.test(String(row['hour']))))
    t.ok(isFalling(rows, 'kwh'))
    t.equal(Number(rows[0]?.['meters']), hourly.length + quarterly.length + 1)
  },
  '7.2': (t, rows) => {
    t.ok(rows.length === 100 && isFalling(rows, 'peak_kw'))
    t.ok(
      rows.every((row) => Number(row['peak_kw']) <= 1.5 * 2.88),
      'the sample draws at most half more than the usual',
    )
  },
  '8': (t, rows) => {
    t.equal(total(rows, 'meters'), held.length, 'not the meter that is new')
    t.ok(rows.every((row) => Math.abs(Number(row['percent'])) < 3))
  },
  '9': (t, rows) => {
    t.match(rows, [{ meter_id: exporter.meterId, exported: '1200' }])
    t.equal(Number(rows[0]?.['net']).toFixed(3), (Number(rows[0]?.['imported']) - 1_200).toFixed(3))
  },
  '10': (t, rows) => {
    const quarterMore = faults.find(({ what }) => /^a quarter more/.test(what))
    t.match(rows, [{ account_number: quarterMore?.account, meter_id: quarterMore?.meter }])
  },
  '11': (t, rows) => {
    t.ok(isFalling(rows, 'dollars'))
    const causes = rows.map((row) => String(row['cause']))
    t.same(causes.sort(), ['rateVersion', 'taxAndFees', 'unexplained'], 'as planted')
  },
  '12': (t, rows) =>
    t.match(rows, [
      { billing_cycle_id: '7', status: 'sparse', bills: '1', for_example: newMeter.meterId },
    ]),
  '13': (t, rows) => t.match(rows, [{ meter_id: '55008888', quantity: '400', cost: '61.5' }]),
  '14': (t, rows) => {
    t.same(
      [...new Set(rows.map((row) => row['window']))].sort(),
      ['Flat', 'Off-Peak', 'Peak', 'Weekend'],
      'no tier and no charge',
    )
    const peak = rows.filter((row) => row['window'] === 'Peak' && row['start_date'] === open.start)
    t.ok(
      peak.length === 1 &&
        Math.abs(total(peak, 'dollars') / total(peak, 'quantity') - 0.1684) < 1e-3,
    )
  },
  '15': (t, rows) => {
    t.ok(rows.length === 20 && isFalling(rows, 'increase'))
    for (const row of rows) {
      const now = billedTo(row, '2026-09')
      const used = billedTo(row, '2026-08').map(({ meter, cost, quantity }) => {
        const later = now.find((one) => one.meter === meter)?.quantity ?? 0
        return { used: cost * (later / quantity - 1) }
      })
      t.equal(total(now, 'cost').toFixed(2), Number(row['cost_now']).toFixed(2))
      t.ok(Math.abs(total(used, 'used') - Number(row['from_usage'])) < 0.01)
    }
  },
  '16': (t, rows) => {
    const own = rows.filter((row) => row['start_date'] === '2026-10-20')
    t.ok(own.length > 0 && isFalling(rows, 'increase'))
    for (const row of own) {
      t.ok(Number(row['increase']) > 0 && Number(row['days_projected']) > 0)
      const before = billedTo(row, '2025-10-20').find(({ meter }) => meter === row['meter_id'])
      t.equal(before?.cost, Number(row['last_year']))
    }
  },
  '16.2': (t, rows) => {
    const [row] = rows.filter((one) => one['billing_cycle_id'] === open.cycleId)
    t.match(row, { start_date: open.start, last_date: '2026-10-31' })
    t.equal(Number(row?.['first_projection']), Number(estimated.total))
    t.equal(Number(row?.['final']), Number(final.total))
  },
  '17': (t, rows) => {
    t.ok(rows.length > 0 && isFalling(rows, 'saving'))
    t.ok(
      rows.every((row) => row['best_rate'] === 'RES-TIER' && row['own_rate'] !== 'RES-TIER'),
      'the tiers of the sample cost least',
    )
  },
  '18': (t, rows) => {
    t.same(rows.flatMap((row) => row['meters']).sort(), moved.map(({ meterId }) => meterId).sort())
    t.ok(rows.every((row) => row['day'] === '2026-10-01'))
  },
  '19': (t, rows) => t.equal(total(rows, 'cost').toFixed(2), Number(restated.total).toFixed(2)),
}

/** Bills of the account of a row that begin in a month or on a day. */
function billedTo({ account_number: account }: Row, start: string) {
  return bills
    .map((line) => line.split(','))
    .filter((line) => line[0] === account && line[3]?.startsWith(start))
    .map((line) => ({ meter: line[2], quantity: Number(line[5]), cost: Number(line[7]) }))
}

t.test('the guide has nineteen questions, and each query is tested', async (t) => {
  t.same([...byNumber.keys()].sort(), Object.keys(truths).sort())
  t.equal([...byNumber.keys()].filter((number) => !number.includes('.')).length, 19)
})

for (const [number, holds] of Object.entries(truths)) {
  const { title, sql: asked = '' } = byNumber.get(number) ?? {}
  t.test(`${number}. ${title}`, async (t) => {
    const counted = `SELECT count() AS rows, uniqExact(meter_id, starts_at, seconds) AS reads,
      uniqExact(meter_id) AS meters FROM (${asked})`
    holds(t, await story.reader.rows<Row>({ sql: number === '1' ? counted : asked }))
  })
}

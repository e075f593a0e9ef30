import t from 'tap'
import { recordPeriods } from '../../../pipeline/bills/periods.js'
import { billWhenDue, queueDue } from '../../../pipeline/bills/when-due.js'
import { customerAt, publishFile } from '../customers/registering.js'
import { later, lineAt, noonIn, schedules } from './due.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
const period = { cycleId: '7', start: '2026-01-01' }
const job = { name: 'bill', v: 1, ...period }
const january = '2026-01-01T05:00:00Z'
await rig.publish({
  ...schedules,
  Billing: ['A1,S,one,2026-01-01,2026-01-31,744,744,60.00,,,D1'],
})
await rig.register(
  customerAt({ clientId: '1', accountNumber: 'A1', meterId: 'one', rateCode: 'FLAT' }),
)
await rig.registerAt(
  '2025-12-01',
  customerAt({ clientId: '3', accountNumber: '', meterId: 'three', rateCode: 'FLAT' }),
)
await rig.read({ meter: 'three', account: 'AX', from: january, quantities: ['7'] })
const hours = { meter: 'one', account: 'A1', from: january, seconds: 3_600 }
await rig.read({ ...hours, quantities: steady('1', 744) })

/** The periods that are due now; they are recorded as checked, or their bills are computed. */
async function due({ bills = false } = {}) {
  const { line, queued } = lineAt(rig, later(11))
  await queueDue(line)
  if (queued.length === 0) return queued
  const checked = { cycleId: period.cycleId, first: period.start, knownAt: Date.now() }
  if (bills) await billWhenDue(lineAt(rig, later(11)).line, period)
  else await recordPeriods(rig.store, [checked])
  return queued
}

const publish = async (feed: string, row: string, options?: { readonly bills: boolean }) => {
  await rig.publish({ [feed]: [row] })
  return due(options)
}

t.test('a file that stores earlier reads under another length touches their periods', async (t) => {
  t.same(await due({ bills: true }), [job])
  const arrival = 900
  await rig.store.command({
    sql: `INSERT INTO usage_read SELECT * REPLACE (toUInt64(${arrival}) AS change) FROM usage_read
      WHERE meter_id = 'one' AND local_day = '2026-01-05' LIMIT 1`,
  })
  const more = {
    first_interval_start: '2026-04-01T05:00:00Z',
    last_interval_end: '2026-04-02T05:00:00Z',
  }
  await publishFile(rig.store, { arrival, feed: 'Electric', rekeys: true, more })
  t.same(await due(), [job])
})

t.test('a repair touches the periods of the file whose rows it brings back', async (t) => {
  await rig.publish({ Billing: ['A1,S,one,2026-01-01,2026-01-31,744,744,61.00,,,D1'] })
  t.same(await due(), [job])
  for (const [feed, table] of [
    ['Electric', 'usage_read'],
    ['Billing', 'billing_period_row'],
  ] as const) {
    const [lost] = await rig.store.rows<{ arrival: string }>({
      sql: `SELECT toString(max(bitShiftRight(version, 32))) AS arrival FROM ${table}`,
    })
    await rig.repair(feed, Number(lost?.arrival))
    t.same(await due(), [job], feed)
  }
})

t.test('plans touch the bills on whose last day they become others', async (t) => {
  const plan = (terms: string, options?: { readonly bills: boolean }) =>
    publish('PaymentPlans', `A1,BudgetBilling,${terms}`, options)
  t.same(await publish('PaymentPlans', 'A2,BudgetBilling,2025-06-01,,60,Active'), [])
  t.same(await plan('2026-02-01,,60,Active'), [], 'begins later')
  t.same(await plan('2025-06-01,,60,Active', { bills: true }), [job], 'is new')
  t.match(await rig.store.rows({ sql: 'SELECT cost_causes AS causes FROM bill_variance' }), [
    { causes: { budgetBilling: 14.4 } },
  ])
  t.same(await plan('2025-06-01,,70,Active'), [job], 'has another instalment')
  t.same(await plan('2025-06-01,2025-12-31,70,Completed'), [job], 'has ended before')
})

t.test('a plan that ends after the bill does not touch it', async (t) => {
  const plan = (end: string) => publish('PaymentPlans', `A1,PaymentArrangement,2025-07-01,${end}`)
  t.same(await plan(',25,Active'), [job])
  t.same(await plan('2026-01-31,25,Completed'), [])
})

t.test('invoices touch the bills that they may be of', async (t) => {
  const line = (row: string) => publish('Invoices', row)
  t.same(await line('A2,I2,2026-02-03,,1,Tax,Tax,2.00'), [])
  t.same(await line('A1,I3,2026-04-03,,1,Tax,Tax,2.00'), [], 'is too late')
  t.same(await line('A1,D1,2026-04-03,,1,Tax,Tax,2.00'), [job], 'names the bill')
  t.same(await line('A1,I1,2026-02-03,,1,Tax,Tax,2.00'), [job], 'follows the bill')
  t.same(await line('A2,I1,2026-02-03,,1,Tax,Tax,2.00'), [job], 'is of another account now')
})

t.test(
  'lines touch the bill whose document they are of, whichever day that begins on',
  async (t) => {
    t.same(await publish('Billing', 'A1,S,one,2025-12-31,2026-01-30,744,744,62.00,,,D2'), [job])
    t.same(await publish('BillingLines', 'A1,one,2025-12-31,1,Tax,Tax,,,2.00'), [job])
    t.same(
      await publish('BillingLines', 'A1,one,2025-12-30,1,Tax,Tax,,,2.00'),
      [],
      'of no document',
    )
  },
)

async function dueIn(days: number) {
  const { line, queued } = lineAt(rig, later(noonIn(days)))
  await queueDue(line)
  if (queued.length > 0) await billWhenDue(line, period)
  return queued
}

t.test('a repair of rates changes the bills of all periods the next day', async (t) => {
  const [rates] = await rig.store.rows<{ arrival: number }>({
    sql: "SELECT arrival FROM schedule_version WHERE feed = 'RateFlat'",
  })
  t.same(await dueIn(2), [])
  await rig.repair('RateFlat', rates?.arrival ?? 0, later(noonIn(2)))
  t.same(await dueIn(2), [job])
})

t.test(
  'an account that registers elsewhere takes its reads from a bill the next day',
  async (t) => {
    const sums = async () => {
      const bills = await rig.bills('meter_id AS meter, toString(quantity) AS quantity')
      return bills.filter(({ meter }) => meter === 'three').map(({ quantity }) => quantity)
    }
    t.same(await dueIn(3), [job], 'rates have changed since')
    t.same(await dueIn(4), [])
    t.same(await sums(), ['7'])
    const one = customerAt({
      clientId: '4',
      accountNumber: 'AX',
      meterId: 'four',
      externalSiteId: 'T',
    })
    const meters = one.meters.map((meter) => ({ ...meter, billingCycleId: '9' }))
    await rig.registerAt(later(noonIn(4)).toISOString(), { ...one, meters })
    t.same(await dueIn(4), [job])
    t.same(await sums(), ['0'])
  },
)

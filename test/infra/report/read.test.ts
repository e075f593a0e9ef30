import t from 'tap'
import { readFacts } from '../../../infra/report/read.js'
import { billRig, steady, timeZone } from '../../pipeline/bills/rig.js'
import { customerAt } from '../../pipeline/customers/registering.js'

const rig = await billRig(t)
const read = (cycleId: string, start?: string) => readFacts(rig.store, { cycleId, start }, timeZone)

const known = (meterId: string) => {
  const at = { clientId: `c${meterId}`, accountNumber: `A${meterId}`, meterId, rateCode: 'FLAT' }
  const customer = customerAt(at)
  return rig.register({
    ...customer,
    meters: customer.meters.map((one) => ({ ...one, billingCycleId: '7' })),
  })
}

t.test('a cycle without a schedule or without bills names the remedy', async (t) => {
  await t.rejects(read('7'), { message: /billing cycle "7" does not exist; load a BillingCycles/ })
  await rig.publish({ BillingCycles: ['7,2026-01-01,2026-01-31', '7,2026-02-01,2026-02-28'] })
  await t.rejects(read('8'), { message: /"8" does not exist; name one of 7$/ })
  await t.rejects(read('7'), { message: /"7" has no bills; run tieline bill --cycle 7$/ })
  await t.rejects(read('7', '2026-01-01'), { message: /bill --cycle 7 --period 2026-01-01$/ })
})

/** January 2026 begins at 5:00 UTC in Detroit and has 744 hours. */
const january = { from: '2026-01-01T05:00:00Z', seconds: 3_600 }

t.test('silent days count as missing, and meters without data apart from them', async (t) => {
  await rig.publish({
    RateCodes: ['FLAT,Flat,Flat,,'],
    RateFlat: ['FLAT,0.1,2025-01-01,,'],
    Billing: ['Awhole,S,whole,2026-01-01,2026-01-31,700,700,70.00,,'],
  })
  for (const meter of ['whole', 'short', 'never']) await known(meter)
  await rig.read({ meter: 'whole', ...january, quantities: steady('1', 744) })
  await rig.read({ meter: 'short', ...january, quantities: steady('3', 610) })
  const { run } = await rig.bill({ start: '2026-01-01' })
  const facts = await read('7')
  t.match(facts.run, { run, cycleId: '7', first: '2026-01-01', last: '2026-01-31', timeZone })
  t.equal(facts.days.length, 31)
  const both = { meters: 3, known: 2, expected: 48 }
  // A day without reads counts in the usual length of the profile, 15 minutes.
  const silent = { ...both, expected: 24 + 96, present: 24, silent: 1, partial: 0 }
  t.match(facts.days[24], { ...both, day: '2026-01-25', present: 48, silent: 0, partial: 0 })
  t.match(facts.days[25], { ...both, day: '2026-01-26', present: 34, silent: 0, partial: 1 })
  t.match(facts.days[26], { ...silent, day: '2026-01-27' })
  t.equal(facts.shape.length, 24)
  const [midnight] = facts.shape
  t.match(midnight, { commodity: 'Electric', rateCode: 'FLAT', unit: 'kWh', hour: 0, meters: 2 })
  t.equal(midnight?.perHour, (31 + 3 * 26) / 57, 'weighted by the hours that are there')
  t.match(facts.outliers, [{ account: 'Awhole', meter: 'whole', costDifference: '4.4' }])
})

t.test('the latest run counts, but not one as of an earlier instant', async (t) => {
  const asOf = new Date()
  const { run } = await rig.bill({ start: '2026-01-01' })
  await rig.bill({ start: '2026-01-01', asOf })
  t.equal((await read('7', '2026-01-01')).run.run, run)
  await t.rejects(read('7', '2026-02-01'), {
    message:
      /"7" has no bills of a period from 2026-02-01; its periods with bills begin on 2026-01-01$/,
  })
})

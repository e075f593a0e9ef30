import t from 'tap'
import { bill, billTogether } from '../../../../pipeline/bills/run.js'
import { customerAt } from '../../customers/registering.js'
import { billRig, steady } from '../rig.js'
import { seenOf } from './seen.js'

/** What is rounded must not depend on how many other rates are computed with it. */
const rig = await billRig(t)
const cycles = ['7', '8']
const ended = { first: '2026-01-01', last: '2026-01-31' }
const open = { first: '2026-05-01', last: '2026-05-31' }

await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,', 'TOU,Time of use,TOU,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,'],
  RateTou: [
    'TOU,Peak,0.2,14,19,--01-01,--05-20,,',
    'TOU,Off-Peak,0.08,19,14,--01-01,--05-20,,',
  ].flatMap((row) => [row, row.replace('--01-01,--05-20', '--05-21,--12-31')]),
  BillingCycles: [ended, open].flatMap(({ first, last }) =>
    cycles.map((cycle) => `${cycle},${first},${last}`),
  ),
})
for (const [meterId, rateCode, billingCycleId] of [
  ['flat', 'FLAT', '7'],
  ['tou', 'TOU', '8'],
] as const) {
  const customer = customerAt({ clientId: meterId, accountNumber: meterId, meterId, rateCode })
  const meters = customer.meters.map((one) => ({ ...one, billingCycleId }))
  await rig.register({ ...customer, meters })
  const reads = { meter: meterId, account: meterId }
  // Of each hour 0.1 kWh, so that no sum of some quarter hours is a whole number of means.
  const hour = ['0.000001', '0.033333', '0.033333', '0.033334']
  const quantities = (days: number) =>
    steady('', days * 24)
      .flatMap(() => hour)
      .map((one, at) => (at % 7 === 0 ? '0.000002' : one))
  await rig.readAll([
    { ...reads, from: '2026-01-01T05:00:00Z', quantities: quantities(29) },
    { ...reads, from: '2026-04-10T04:00:00Z', quantities: quantities(35) },
  ])
}
await rig.publish({
  Billing: ['flat', 'tou'].map((one) => `${one},S,${one},2026-01-01,2026-01-31,60,60,6.00,,`),
})

for (const [name, period, day] of [
  ['days ahead are projected', open, '2026-05-15'],
  ['missing intervals are filled up', ended, '2026-02-10'],
] as const) {
  t.test(`${name}: together as apart`, async (t) => {
    const context = { ...rig.context(), now: () => new Date(`${day}T16:00:00Z`) }
    for (const cycleId of cycles) await bill(context, { cycleId, start: period.first })
    const apart = await seenOf(rig.store, `start_date = '${period.first}'`)
    const periods = cycles.map((cycleId) => ({ ...period, cycleId, fileId: 'f' }))
    await billTogether(context, periods)
    t.strictSame(await seenOf(rig.store, `start_date = '${period.first}'`), apart)
    t.equal(apart['projected_bill']?.length, 2)
  })
}

import { t } from 'tap'
import { billRig, steady } from '../../../pipeline/bills/rig.js'
import { customerAt } from '../../../pipeline/customers/registering.js'
import { readingOf, usagePage } from '../rig.js'

const rig = await billRig(t)
const context = readingOf(t, rig.store)
const register = (meterId: string) =>
  rig.register(customerAt({ clientId: meterId, accountNumber: `A${meterId}`, meterId }))
await rig.publish({ BillingCycles: ['7,2026-03-01,2026-03-31'] })

t.test('reads of a day that has not ended do not stand for those of another day', async (t) => {
  await register('today')
  const meter = 'today'
  await rig.readAll([
    { meter, from: '2026-03-02T05:00:00Z', quantities: steady('1', 88) },
    { meter, from: '2026-03-03T05:00:00Z', quantities: steady('1', 48) },
  ])
  const now = () => new Date('2026-03-03T17:00:00Z')
  for (const granularity of ['hour', 'day', 'month', 'billingPeriod'] as const) {
    const query = { meterId: meter, from: '2026-03-01', to: '2026-03-31', granularity }
    const { points } = await usagePage({ ...context, now }, meter, query)
    const missing = points.reduce((sum, { secondsMissing }) => sum + secondsMissing, 0)
    t.equal(missing, 7_200, granularity)
  }
})

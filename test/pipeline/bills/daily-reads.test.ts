import t from 'tap'
import { customerAt } from '../customers/registering.js'
import { costsAddUp } from './costs.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)

await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,'],
  BillingCycles: ['7,2026-03-01,2026-03-31'],
})

/** The hours of the clock at which daily reads begin. */
const hours = [0, 1, 9, 11, 12, 13, 18, 23]
const meterOf = (hour: number) => `from-${hour}`
await rig.register(
  ...hours.map((hour) => {
    const meterId = meterOf(hour)
    return customerAt({
      clientId: meterId,
      accountNumber: `A${meterId}`,
      meterId,
      rateCode: 'FLAT',
    })
  }),
)
/** From the day before the period to the day after it; each day has a quantity of its own. */
const quantityOf = (day: number) => String(100 + day)
for (const hour of hours) {
  await rig.read({
    meter: meterOf(hour),
    from: new Date(Date.UTC(2026, 1, 28, hour + 5)).toISOString(),
    seconds: 86_400,
    quantities: Array.from({ length: 33 }, (_, day) => quantityOf(day)),
  })
}
// March begins at 5:00 UTC in Detroit; its 8th day has 23 hours.
const both = { meter: 'both', account: 'Aboth' }
await rig.register(
  customerAt({ clientId: 'both', accountNumber: 'Aboth', meterId: 'both', rateCode: 'FLAT' }),
)
await rig.readAll([
  { ...both, from: '2026-03-01T05:00:00Z', seconds: 3_600, quantities: steady('1', 16 * 24 - 1) },
  { ...both, from: '2026-03-17T04:00:00Z', seconds: 86_400, quantities: steady('24', 15) },
])
await rig.bill({ start: '2026-03-01' })

const whole = Array.from({ length: 31 }, (_, at) => ({
  day: `2026-03-${String(at + 1).padStart(2, '0')}`,
  quantity: quantityOf(at + 1),
}))

t.test('a daily read is billed on the day on which it starts, at whatever hour', async (t) => {
  for (const hour of hours) {
    const meter = meterOf(hour)
    const bills = await rig.bills(
      `meter_id, status, toString(quantity) AS quantity, intervals_present`,
    )
    const sum = String(31 * 100 + (31 * 32) / 2)
    t.match(
      bills.find((row) => row['meter_id'] === meter),
      { status: 'computed', quantity: sum, intervals_present: '31' },
      `the bill, ${hour}:00`,
    )
    for (const view of ['usage_day', 'day_cost', 'interval_cost']) {
      const rows = await rig.store.rows({
        sql: `SELECT toString(local_day) AS day, toString(sum(quantity)) AS quantity FROM ${view}
          WHERE meter_id = {meter:String} AND local_day BETWEEN '2026-03-01' AND '2026-03-31' GROUP BY day ORDER BY day`,
        parameters: { meter },
      })
      t.same(rows, whole, `${view}, ${hour}:00`)
    }
  }
  await costsAddUp(t, rig.store)
})

t.test('beside daily reads a day of 23 hourly ones is one', async (t) => {
  const bills = await rig.bills('meter_id, status, quantity, intervals_expected, intervals_present')
  const found = bills.find((row) => row['meter_id'] === 'both')
  const days = { intervals_expected: '31', intervals_present: '31' }
  t.match(found, { status: 'computed', quantity: 743, ...days })
})

import t from 'tap'
import { bill } from '../../../../pipeline/bills/run.js'
import { customerAt, markReads, publishFile } from '../../customers/registering.js'
import { billRig } from '../rig.js'

/** As many customers need a multiple of the engine's 2 GiB if each class holds all others of its row. */
const customers = 1_500
const rig = await billRig(t)
const first = '2026-05-01'

await rig.publish({
  RateCodes: ['TOU,Time of use,TOU,,', 'TIER,Tiered,Tiered,,'],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  RateTou: ['TOU,Peak,0.2,14,19,--01-01,--12-31,,', 'TOU,Off-Peak,0.08,19,14,--01-01,--12-31,,'],
  BillingCycles: [`7,${first},2026-05-31`],
})
const customer = (at: number, rateCode: string) =>
  customerAt({ clientId: `${at}`, accountNumber: `A${at}`, meterId: `m${at}`, rateCode })
for (let from = 0; from < customers; from += 100) {
  const some = Array.from({ length: 100 }, (_, at) => customer(from + at, 'TIER'))
  await rig.registerAt('2025-12-01T16:00:00Z', ...some)
}
for (let day = 2; day <= 31; day++) {
  const at = `2026-05-${String(day).padStart(2, '0')}T16:00:00Z`
  await rig.registerAt(at, customer(day, 'TOU'))
}
const arrival = 77
await rig.store.command({
  sql: `INSERT INTO usage_read (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity, account_number, external_site_id, version)
    SELECT concat('m', toString(number % ${customers})), 'Electric',
      toDateTime('2026-04-10 04:00:00', 'UTC') + intDiv(number, ${customers}) * 3600 AS starts, 3600,
      toDate(starts, 'America/Detroit'), toHour(starts, 'America/Detroit'), 0.123457,
      concat('A', toString(number % ${customers})), 'S', ${arrival} * 4294967296 + number
    FROM numbers(${customers * 24 * 35})`,
})
await markReads(rig.store, arrival)
await publishFile(rig.store, { arrival, feed: 'Electric' })

t.test('an open period whose rates change on each of its days fits into memory', async (t) => {
  const now = () => new Date('2026-05-15T16:00:00Z')
  const { bills } = await bill({ ...rig.context(), now }, { cycleId: '7', start: first })
  t.same(bills, { projected: customers })
  // Of each hour 0.123457 kWh, 744 of them.
  const [found] = await rig.store.rows({
    sql: 'SELECT toString(min(quantity)) AS least, toString(max(quantity)) AS most FROM projected_bill',
  })
  t.same(found, { least: '91.852008', most: '91.852008' })
})

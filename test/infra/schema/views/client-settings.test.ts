import t from 'tap'
import { publicNames } from '../../../../infra/schema/views/public-views.js'
import { createStore, type Settings } from '../../../../pipeline/store/clickhouse.js'
import { id, sql } from '../../../../pipeline/store/sql.js'
import { billRig, steady } from '../../../pipeline/bills/rig.js'
import { customerAt } from '../../../pipeline/customers/registering.js'

const rig = await billRig(t)
const reader = createStore({ ...rig.store.address, username: 'reader', password: 'r' })
t.teardown(() => reader.close())

/** A meter that is billed, one whose reads were corrected, one of nobody, and one that was taken over. */
await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,'],
  BillingCycles: ['7,2026-01-01,2026-01-31'],
  Billing: ['Abilled,S,billed,2026-01-01,2026-01-31,744,744,74.40,,'],
})
const january = { from: '2026-01-01T05:00:00Z', seconds: 3_600 }
for (const meter of ['billed', 'nobody', 'moved']) {
  await rig.read({ meter, ...january, quantities: steady('1', 744) })
}
for (const meterId of ['billed', 'moved']) {
  const known = { clientId: `c${meterId}`, accountNumber: `A${meterId}`, meterId, rateCode: 'FLAT' }
  await rig.register(customerAt(known))
}
const next = { meterId: 'moved', accountNumber: 'Anext', rateCode: 'FLAT' }
await rig.register(customerAt({ clientId: 'cnext', ...next }))
await rig.bill({ start: '2026-01-01' })

/** What clients set for each statement of a reader, as a data engineer's own default. */
const clients: readonly Settings[] = [
  { join_use_nulls: 1 },
  { final: 1 },
  { session_timezone: 'America/Los_Angeles' },
  { join_algorithm: 'full_sorting_merge' },
]

/** Rows of a view and a sum over their values, without those that follow the clock. */
async function seen(view: string, settings: Settings): Promise<unknown> {
  const from =
    view === 'usage_as_of' ? sql`usage_as_of(known_at = '2099-01-01 00:00:00')` : id(view)
  const columns = view === 'freshness' ? sql`* EXCEPT (age_hours)` : sql`*`
  return reader.rows({
    sql: sql`SELECT count() AS rows, groupBitXor(cityHash64(toString(tuple(${columns})))) AS hash FROM ${from}`,
    settings,
  })
}

for (const view of publicNames) {
  t.test(`${view} is the same whatever its client sets`, async (t) => {
    const plain = await seen(view, {})
    for (const settings of clients) {
      t.same(await seen(view, settings), plain, JSON.stringify(settings))
    }
  })
}

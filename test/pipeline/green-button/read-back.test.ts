import { t } from 'tap'
import { pathsOf } from '../../../pipeline/green-button/resources.js'
import { sql } from '../../../pipeline/store/sql.js'
import { timeZone } from '../bills/rig.js'
import { convert } from '../formats/convert.js'
import { createCustomer, feedOf, january } from './rig.js'

const { store } = await createCustomer(t)
const feed = await feedOf(store, january)

/** The name that a reader gives a meter: the last segment of its address. */
const nameOf = (meter: string, commodity: string) =>
  pathsOf(['tieline', january.clientId], { meter, commodity }).self.split('/').at(-1) ?? ''

for (const commodity of ['Electric', 'Gas'] as const) {
  t.test(`${commodity}: what is exported is read back as the same reads`, async (t) => {
    const format = { name: 'green-button', meter: '{usagePoint}' }
    const { plain } = await convert(feed, { format, timeZone, feed: commodity })
    const rows = plain.trimEnd().split('\n')
    const found = rows
      .map((row) => row.split(','))
      // A reading of the other commodity is a rejected row, without a meter.
      .filter(([, , meter = '']) => meter !== '')
      .map(([, , meter, at = '', quantity]) => [meter, Date.parse(at) / 1_000, Number(quantity)])
    const sent = await store.rows<{ meter: string; at: number; quantity: number }>({
      sql: sql`SELECT meter_id AS meter, toUnixTimestamp(starts_at) AS at, toFloat64(quantity) AS quantity
        FROM registered_usage WHERE commodity = ${commodity} ORDER BY meter, at`,
    })
    const wanted = sent.map(({ meter, at, quantity }) => [nameOf(meter, commodity), at, quantity])
    t.same(new Set(found.map(String)), new Set(wanted.map(String)))
    t.equal(found.length, wanted.length)
  })
}

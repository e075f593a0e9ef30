import t from 'tap'
import { createCompared, sumPeriods } from '../../../../pipeline/bills/compare/comparison.js'
import { sql } from '../../../../pipeline/store/sql.js'
import { migratedStore } from '../../customers/registering.js'

const compared = 'bill_compared_r1_0'
const firstDays = [20_400, 20_430, 20_460]

t.test('a comparison is for the clients who had all of its periods', async (t) => {
  const store = await migratedStore(t)
  await store.command(createCompared(compared))
  const period = (meter_id: string, at: number, client_ids: readonly string[]) => ({
    ...{ meter_id, external_site_id: 'S', account_number: 'A', client_id: '' },
    ...{ rate_code: 'R', own_rate_code: 'R', status: 'computed', unit: 'kWh', total: '1.10' },
    ...{ first_day: firstDays[at], last_day: (firstDays[at] ?? 0) + 29, client_ids },
  })
  await store.insert(compared, [
    ...[['2', '1'], ['3', '2'], ['2']].map((clients, at) => period('some', at, clients)),
    ...[
      ['5', '4'],
      ['5', '4'],
      ['4', '5'],
    ].map((clients, at) => period('all', at, clients)),
    ...[['6'], [], ['6']].map((clients, at) => period('none', at, clients)),
    ...[['7'], ['8']].map((clients, at) => period('gone', at, clients)),
  ])
  await store.command(sumPeriods({ run: 'r1', compared, cycleId: '1', last: 20_489 }))
  const found = await store.rows({
    sql: sql`SELECT meter_id, client_ids, periods, toString(total) AS total
      FROM rate_comparison_row WHERE run = 'r1' ORDER BY meter_id`,
  })
  t.same(found, [
    { meter_id: 'all', client_ids: ['4', '5'], periods: 3, total: '3.3' },
    { meter_id: 'none', client_ids: [], periods: 3, total: '3.3' },
    { meter_id: 'some', client_ids: ['2'], periods: 3, total: '3.3' },
  ])
})

import t from 'tap'
import type { HoldRow, TenancyRow } from '../../../pipeline/customers/stored-tenancies.js'
import { changesBetween } from '../../../pipeline/ledger/usage-changes.js'
import { createZone } from '../../../schemas/time/zone.js'

const zone = createZone('America/Detroit')
const codes = { held_from: '1970-01-01 00:00:00', unit_of_measure: '' }

function tenancy(hold: Partial<HoldRow>, rate = 'RES'): TenancyRow {
  const ever = { held_from: '2026-01-10 05:00:00', held_to: '2106-02-07 06:28:15' }
  const own = { account_number: 'A', client_ids: ['1'], billed_to: ['1'], change: '7' }
  return {
    ...{ meter_id: 'M', external_site_id: 'S' },
    codes: [{ ...codes, rate_code: rate, billing_cycle_id: '7' }],
    holds: [{ ...ever, ...own, ...hold }],
  } as unknown as TenancyRow
}

const between = (before: TenancyRow, after: TenancyRow) =>
  changesBetween([before], [after], zone).map((one) => [
    one.local_day,
    one.last_local_day,
    one.client_ids_before.join(),
    one.client_ids_after.join(),
    one.cause,
  ])

t.test(
  'all days of a hold that becomes longer are listed: its reads get another number',
  async (t) => {
    const longer = tenancy({ held_from: '2026-01-01 05:00:00', change: '8' })
    t.same(between(tenancy({}), longer), [
      ['2026-01-01', '2026-01-09', '', '1', 'ownership'],
      ['2026-01-10', '2106-02-07', '1', '1', 'ownership'],
    ])
  },
)

t.test('of a hold that becomes shorter only the days that it loses are', async (t) => {
  const shorter = tenancy({ held_to: '2026-03-01 05:00:00' })
  t.same(between(tenancy({}), shorter), [['2026-03-01', '2106-02-07', '1', '', 'ownership']])
  t.same(between(tenancy({}), tenancy({})), [])
})

t.test('another rate is a matter of cost', async (t) => {
  const days = ['2026-01-10', '2106-02-07', '1', '1', 'cost']
  t.same(between(tenancy({}), tenancy({}, 'TOU')), [days])
})

t.test('what changes alike under several accounts is listed once', async (t) => {
  const both = (rate: string) => {
    const [own, bare] = [tenancy({}, rate), tenancy({ account_number: '' }, rate)]
    return { ...own, holds: [...own.holds, ...bare.holds] }
  }
  const days = ['2026-01-10', '2106-02-07', '1', '1', 'cost']
  t.same(between(both('RES'), both('TOU')), [days])
})

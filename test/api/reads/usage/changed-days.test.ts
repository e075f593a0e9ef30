import { t } from 'tap'
import { endClients } from '../../../../pipeline/customers/registrations.js'
import { publishChanges } from '../../../../pipeline/ledger/announced.js'
import { billRig, steady } from '../../../pipeline/bills/rig.js'
import { customerAt, registeringAt } from '../../../pipeline/customers/registering.js'
import { readingOf, usagePage } from '../rig.js'

const rig = await billRig(t)
const { store } = rig
const context = readingOf(t, store)
const [first, second, third] = ['01', '02', '03'].map((day) => `2026-02-${day}T05:00:00Z`) as [
  string,
  string,
  string,
]
const tenantAt = (clientId: string, meterId: string) =>
  customerAt({ clientId, accountNumber: `A${clientId}`, meterId })
const readAt = (clientId: string, meter: string, from: string) =>
  rig.read({ meter, account: `A${clientId}`, from, quantities: steady('1', 96) })

/** Spans that an erasure on both days makes the client read again. */
async function erasedFor(clientId: string, meterId: string) {
  const february = { meterId, from: '2026-02-01', to: '2026-02-28' }
  const { publishedSeq } = await usagePage(context, clientId, february)
  const change = String(2n ** 40n + BigInt(Date.now()))
  await store.insert('usage_change_row', [
    ...['2026-02-01', '2026-02-02'].map((day) => ({
      ...{ meter_id: meterId, local_day: day, last_local_day: day, cause: 'erasure', change },
    })),
  ])
  await publishChanges({ store, now: () => new Date() }, [change])
  const since = String(publishedSeq)
  return (await usagePage(context, clientId, { ...february, since })).changed
}

t.test('an erasure is shown on days of the customer, not on those of other tenants', async (t) => {
  await rig.registerAt('2026-01-01', tenantAt('old', 'MOVED'))
  await readAt('old', 'MOVED', first)
  await endClients(
    registeringAt(store, () => new Date(second)),
    ['old'],
    'closed',
  )
  await rig.registerAt(second, tenantAt('new', 'MOVED'))
  await readAt('new', 'MOVED', second)
  t.same(await erasedFor('new', 'MOVED'), [{ start: second, end: third }])
  t.same(await erasedFor('old', 'MOVED'), [{ start: first, end: second }])
})

t.test('nor where nothing is known any more of the tenant before', async (t) => {
  await rig.registerAt('2026-01-01', tenantAt('only', 'LEFT'))
  await readAt('only', 'LEFT', second)
  t.same(await erasedFor('only', 'LEFT'), [{ start: second, end: third }])
})

t.test('a landlord reads the days of an erased sub-account again', async (t) => {
  const landlord = tenantAt('landlord', 'ROOM')
  const readUnder = [{ accountNumber: 'Aroomer' }]
  const meters = landlord.meters.map((one) => ({ ...one, readUnder }))
  await rig.registerAt('2026-01-01', { ...landlord, meters })
  t.same(await erasedFor('landlord', 'ROOM'), [{ start: first, end: third }])
})

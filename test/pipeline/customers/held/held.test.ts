import t from 'tap'
import { claimHeld, learnAccounts, register } from '../../../../pipeline/customers/registrations.js'
import {
  customerAt,
  migratedStore,
  publishFile,
  registeringAt,
  toReadRows,
  withoutStaging,
} from '../registering.js'

const store = await migratedStore(t)
const context = registeringAt(store)
const registering = {
  ...context,
  profile: { ...context.profile, ingestion: 'registered' as const },
}

t.test('held reads of a campus go to its client, and a deletion names each of them', async (t) => {
  const startsAt = '2024-06-01T05:00:00Z'
  const meterIds = Array.from({ length: 600 }, (_, at) => `METER-OF-A-CAMPUS-${at}`)
  const reads = [...meterIds, 'OTHER'].map((meterId) => {
    const externalSiteId = meterId === 'OTHER' ? 'ELSEWHERE' : 'S'
    return { accountNumber: 'CAMPUS', meterId, externalSiteId, startsAt }
  })
  await store.insert('held_read', toReadRows(1, reads))
  await publishFile(store, { arrival: 1, feed: 'Electric' })
  const at = { clientId: 'campus', accountNumber: 'CAMPUS' }
  const meters = meterIds.flatMap((meterId) => customerAt({ ...at, meterId }).meters)
  await register(registering, [{ clientId: 'campus', acctStatus: 'A', meters }])
  await claimHeld(registering)
  const seen = await store.rows({
    sql: 'SELECT client_ids, toUInt32(count()) AS reads FROM registered_usage GROUP BY client_ids',
  })
  t.same(seen, [{ client_ids: ['campus'], reads: 600 }])
  t.same(await store.rows({ sql: 'SELECT meter_id FROM held_read' }), [{ meter_id: 'OTHER' }])
  const deletions = await store.rows<{ command: string }>({
    sql: "SELECT command FROM system.mutations WHERE table = 'held_read'",
  })
  t.equal(deletions.length, 1)
  t.notMatch(deletions[0]?.command, /SELECT/i)
})

t.test('a held read of a file that is never published takes none from a claim', async (t) => {
  const at = { accountNumber: 'NEW', meterId: 'TWICE', externalSiteId: 'TWICE' }
  const read = { ...at, startsAt: '2024-06-01T05:00:00Z' }
  await store.insert('held_read', toReadRows(2, [{ ...read, quantity: '7' }]))
  await publishFile(store, { arrival: 2, feed: 'Electric' })
  await store.insert('held_read', toReadRows(3, [{ ...read, quantity: '8' }]))
  await register(registering, [customerAt({ clientId: 'new', ...at })])
  await claimHeld(registering)
  const seen = await store.rows({
    sql: `SELECT client_ids, toString(quantity) AS quantity FROM registered_usage
      WHERE meter_id = 'TWICE'`,
  })
  t.same(seen, [{ client_ids: ['new'], quantity: '7' }])
})

t.test('a held read that a longer one gives to another account is not claimed', async (t) => {
  const at = { accountNumber: 'FIRST', meterId: 'LONGER', externalSiteId: 'LONGER' }
  const read = { ...at, startsAt: '2024-06-01T05:00:00Z' }
  const later = { ...read, accountNumber: 'OTHER' }
  await store.insert('held_read', toReadRows(4, [read]))
  const longer = toReadRows(5, [later]).map((row) => ({ ...row, seconds: 3_600 }))
  await store.insert('held_read', longer)
  for (const arrival of [4, 5]) await publishFile(store, { arrival, feed: 'Electric' })
  await register(registering, [customerAt({ clientId: 'first', ...at })])
  await claimHeld(registering)
  const seen = await store.rows({
    sql: "SELECT client_ids FROM registered_usage WHERE meter_id = 'LONGER'",
  })
  t.same(seen, [])
})

t.test(
  'a held read whose client is registered before its file is published is claimed',
  async (t) => {
    const at = { accountNumber: 'BETWEEN', meterId: 'BETWEEN', externalSiteId: 'BETWEEN' }
    await store.insert('held_read', toReadRows(6, [{ ...at, startsAt: '2024-06-01T05:00:00Z' }]))
    await register(registering, [customerAt({ clientId: 'between', ...at })])
    await publishFile(store, { arrival: 6, feed: 'Electric' })
    await learnAccounts(registering, withoutStaging(6))
    await claimHeld(registering)
    const seen = await store.rows({
      sql: "SELECT client_ids FROM registered_usage WHERE meter_id = 'BETWEEN'",
    })
    t.same(seen, [{ client_ids: ['between'] }])
  },
)

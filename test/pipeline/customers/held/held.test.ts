import t from 'tap'
import { claimHeld, register } from '../../../../pipeline/customers/registrations.js'
import {
  customerAt,
  migratedStore,
  publishFile,
  registeringAt,
  toReadRows,
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

import t from 'tap'
import { claimHeld, register } from '../../../../pipeline/customers/registrations.js'
import { createReplicas } from '../../../rig/replicas/start.js'
import { customerAt, profile, publishFile, registeringAt, toReadRows } from '../registering.js'

const { stores, close } = await createReplicas(profile)
t.teardown(close)
const { r1, r2 } = stores

t.test('held reads that a registration claims are moved on all replicas', async (t) => {
  const context = {
    ...registeringAt(r1),
    profile: { ...profile, ingestion: 'registered' as const },
  }
  await register(context, [customerAt({ clientId: 'C1', accountNumber: 'A1', meterId: 'M1' })])
  await publishFile(r1, { arrival: 1, feed: 'Electric' })
  const read = { accountNumber: 'A2', meterId: 'M2', startsAt: '2026-04-01 05:00:00' }
  await r1.insert('held_read', toReadRows(1, [read]))
  await register(context, [customerAt({ clientId: 'C2', accountNumber: 'A2', meterId: 'M2' })])
  await claimHeld(context)
  for (const store of [r1, r2]) {
    const rows = await store.rows({ sql: 'SELECT meter_id FROM usage' })
    t.same(rows, [{ meter_id: 'M2' }])
    t.same(await store.rows({ sql: 'SELECT meter_id FROM held_read' }), [])
  }
})

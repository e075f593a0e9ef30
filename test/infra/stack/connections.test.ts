import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { withWholeStore } from '../../../infra/stack/connections.js'
import { profile } from '../../pipeline/customers/registering.js'
import { lag } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'

t.setTimeout(120_000)

const { stores, close } = await createReplicas({ ...profile, store: { durability: 'one' } })
t.teardown(close)
const { r1, r2 } = stores

t.test('a command that computes asks a replica when it has everything', async (t) => {
  const tables = ['reject']
  await lag(r2, 'fetches', { to: 'STOP', tables })
  await r1.insert('reject', [{ arrival: 1, line: 2, code: 'X', detail: '' }])
  const read = withWholeStore(r2.address, (store) =>
    store.rows({ sql: 'SELECT arrival FROM reject' }),
  )
  t.equal(await Promise.race([read, sleep(1_000, 'it waits')]), 'it waits')
  await lag(r2, 'fetches', { to: 'START', tables })
  t.same(await read, [{ arrival: 1 }])
})

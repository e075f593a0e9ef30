import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createAttempts } from '../../../api/access/attempts.js'
import { createLocks } from '../../../api/access/locks.js'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { profile } from '../../pipeline/customers/registering.js'
import { lag } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'

const { stores, close } = await createReplicas(profile)
t.teardown(close)
const { r1, r2 } = stores
const tables = ['login_attempt', 'login_unlock']

/** The attempts that a gateway counts which does not wait for the other replica. */
function gatewayAt(replica: Store) {
  const store = createStore(replica.address, 'verbatim', { durability: 'one' })
  t.teardown(store.close)
  const attempts = createAttempts({ store, key: 'key', now: () => new Date() })
  return (clientId: string, token: string) =>
    attempts.count({ clientId, token, reason: 'revoked', isLocked: () => false })
}
const [first, second] = [gatewayAt(r1), gatewayAt(r2)]

t.test('a gateway at a replica that lags counts on from the attempts of another', async (t) => {
  await lag(r2, 'fetches', { to: 'STOP', tables })
  t.equal(await first('C-1', 'a'), 1)
  const counted = second('C-1', 'b')
  t.equal(await Promise.race([counted, sleep(1_000, 'it waits')]), 'it waits')
  await lag(r2, 'fetches', { to: 'START', tables })
  t.equal(await counted, 2)
  t.equal(await first('C-1', 'c'), 3)
})

t.test('a lock is known to a gateway at a replica that lags once it reads the locks', async (t) => {
  await lag(r2, 'fetches', { to: 'STOP', tables })
  for (const token of ['a', 'b', 'c']) await first('C-2', token)
  const onFailure = (fault: Error) => t.fail(fault.message)
  const locks = createLocks({ store: r2, everyMs: 60_000, onFailure })
  const ready = locks.ready()
  t.equal(await Promise.race([ready, sleep(1_000, 'it waits')]), 'it waits')
  t.throws(() => locks.has('C-2'), { code: 'STORE_UNREACHABLE' })
  await lag(r2, 'fetches', { to: 'START', tables })
  await ready
  t.equal(locks.has('C-2'), true)
  await locks.close()
})

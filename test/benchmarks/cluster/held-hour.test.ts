import { t } from 'tap'
import { kindOf } from '../../../pipeline/kinds.js'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { createRepeats } from '../../../pipeline/store/staging.js'
import { createLineOn } from '../../pipeline/by-hand.js'
import { profile } from '../../pipeline/customers/registering.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { createMoving, repeat } from './moving.js'

const world = await createReplicas(profile)
t.teardown(() => world.close())

const feed = 'Electric'

t.test('a rejected row keeps its place in the repeated hour while the client moves', async (t) => {
  let isArmed = true
  let isAway = false
  const client = createMoving(world, (statement, { failOver }) => {
    const isDue = isArmed && /^INSERT INTO `?reject/.test(statement)
    if (isDue) isArmed = false
    if (isDue || isAway) failOver()
    isAway = isDue
  })
  const line = createLineOn(client.store, t.testdir(), {})
  const times = ['0:00', '0:30', '1:00', '1:30', '1:00', '1:30']
  const rows = times.map(
    (time, at) => `A,S,M,11/2/2025 ${time},${at === 2 || at === 3 ? 'bad' : at}`,
  )
  const { arrival } = await line.arrive('DEMO_03022026_Electric.csv', rows)
  await receive(line.context, arrival)
  // As an earlier attempt has left them.
  await kindOf({ feed }).createStaging(world.stores.r2, { arrival, feed })
  await createRepeats(world.stores.r2, arrival)
  await repeat(async () => {
    for (const task of line.loads.slice()) await load(line.context, task)
  })
  await repeat(() => reconcile(line.context, arrival))
  const state = await line.context.ledger.state(arrival)
  const reads = await client.store.rows({
    sql: `SELECT toString(starts_at) AS at, toUInt32(quantity) AS quantity FROM usage_current
      WHERE arrival = ${arrival} ORDER BY at`,
  })
  t.equal(isArmed, false, 'it has moved')
  t.match(state, { status: 'published', rows: { accepted: 4, rejected: 2 } }, state?.reason ?? '')
  t.same(reads, [
    { at: '2025-11-02 04:00:00', quantity: 0 },
    { at: '2025-11-02 04:30:00', quantity: 1 },
    { at: '2025-11-02 06:00:00', quantity: 4 },
    { at: '2025-11-02 06:30:00', quantity: 5 },
  ])
})

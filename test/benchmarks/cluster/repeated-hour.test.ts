import { t } from 'tap'
import { kindOf } from '../../../pipeline/kinds.js'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { createRepeats } from '../../../pipeline/store/staging.js'
import { createLineOn } from '../../pipeline/by-hand.js'
import { profile } from '../../pipeline/customers/registering.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { createDetour, repeat } from './moving.js'

const world = await createReplicas(profile)
t.teardown(() => world.close())

const feed = 'Electric'

/** A client that is at the other server for one statement, once it is armed. */
function createArmed(away: RegExp) {
  let isArmed = false
  const client = createDetour(world, (statement) => {
    const isDue = isArmed && away.test(statement)
    if (isDue) isArmed = false
    return isDue
  })
  const arm = () => {
    isArmed = true
  }
  return { client, arm, isArmed: () => isArmed }
}

t.test('a rejected row keeps its place in the repeated hour while the client moves', async (t) => {
  const { client, arm, isArmed } = createArmed(/^INSERT INTO `?reject/)
  arm()
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
  t.equal(isArmed(), false, 'it has moved')
  t.match(state, { status: 'published', rows: { accepted: 4, rejected: 2 } }, state?.reason ?? '')
  t.same(reads, [
    { at: '2025-11-02 04:00:00', quantity: 0 },
    { at: '2025-11-02 04:30:00', quantity: 1 },
    { at: '2025-11-02 06:00:00', quantity: 4 },
    { at: '2025-11-02 06:30:00', quantity: 5 },
  ])
})

t.test(
  'the second hour waits for a file with the first that another server has staged',
  async (t) => {
    const { client, arm, isArmed } = createArmed(/^SELECT arrival, name FROM arrival/)
    const line = createLineOn(client.store, t.testdir(), {})
    const quarters = ['00', '15', '30', '45']
    const arrivals: number[] = []
    for (const [at, hour] of [0, 1, 1].entries()) {
      const rows = quarters.map((minute) => `A,S,W,11/2/2025 ${hour}:${minute},${at}`)
      const { arrival } = await line.arrive(`DEMO_0${at + 4}022026_Electric.csv`, rows)
      await receive(line.context, arrival)
      for (const task of line.loads.filter((one) => one.arrival === arrival))
        await load(line.context, task)
      arrivals.push(arrival)
    }
    const [before, first, second] = arrivals as [number, number, number]
    await reconcile(line.context, before)
    arm()
    await t.rejects(reconcile(line.context, second), { code: 'FILE_AHEAD' })
    t.equal(isArmed(), false, 'it has moved')
    await reconcile(line.context, first)
    await reconcile(line.context, second)
    const reads = await client.store.rows({
      sql: `SELECT toHour(starts_at) AS hour, groupArray(toUInt32(quantity)) AS quantities FROM usage_current
        WHERE meter_id = 'W' GROUP BY hour ORDER BY hour`,
    })
    t.same(reads, [
      { hour: 4, quantities: [0, 0, 0, 0] },
      { hour: 5, quantities: [1, 1, 1, 1] },
      { hour: 6, quantities: [2, 2, 2, 2] },
    ])
  },
)

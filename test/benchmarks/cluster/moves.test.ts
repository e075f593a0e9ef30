import { t } from 'tap'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { createLineOn } from '../../pipeline/by-hand.js'
import { profile } from '../../pipeline/customers/registering.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { someOf } from '../../rig/sample.js'
import { createMoving, repeat } from './moving.js'

const world = await createReplicas(profile)
t.teardown(() => world.close())

const files = [
  {
    feed: 'Electric',
    rowsOf: (at: number) => [`A,S,M${at},3/4/2026 0:00,1.0`, `A,S,M${at},3/4/2026 0:15,2.0`],
    table: 'usage_read',
  },
  {
    feed: 'BillingCycles',
    rowsOf: (at: number) => [`${at},2026-01-05,2026-02-03`, `${at},2026-02-04,2026-03-05`],
    header: 'BillingCycleID,StartDate,EndDate',
    table: 'billing_cycle_row',
  },
]
const link = /^ALTER TABLE `staging_/
const attach = /^ALTER TABLE `?(usage_read|billing_cycle_row)`? ATTACH/
/** Before which statements the client moves; in the last one it comes back to a table of its first attempt. */
const journeys = [[link], [attach], [/^INSERT INTO `?(stale_day|published_rows)/], [link, attach]]

for (const { feed, rowsOf, header, table } of files) {
  for (const [at, moments] of someOf([...journeys.entries()], 2)) {
    t.test(
      `${feed}: the client moves to a server with empty staging before ${moments.join(', ')}`,
      async (t) => {
        const ahead: RegExp[] = []
        const client = createMoving(world, (statement, { failOver }) => {
          if (ahead[0]?.test(statement) !== true) return
          ahead.shift()
          failOver()
        })
        const line = createLineOn(client.store, t.testdir(), {})
        client.failOver()
        const name = `DEMO_0${at + 1}032026_${feed}.csv`
        const { arrival } = await line.arrive(name, rowsOf(at), header)
        await receive(line.context, arrival)
        client.failOver()
        await repeat(async () => {
          for (const task of line.loads.slice()) await load(line.context, task)
        })
        ahead.push(...moments)
        await repeat(() => reconcile(line.context, arrival))
        t.same(ahead, [], 'it has moved')
        const state = await line.context.ledger.state(arrival)
        t.match(state, { status: 'published', rows: { accepted: 2 } }, state?.reason ?? '')
        const ofFile = `version >= ${arrival} * 4294967296 AND version < ${arrival + 1} * 4294967296`
        for (const store of Object.values(world.stores)) {
          const sql = `SELECT toUInt32(count()) AS rows FROM ${table} WHERE ${ofFile}`
          t.same(await store.rows({ sql }), [{ rows: 2 }])
        }
      },
    )
  }
}

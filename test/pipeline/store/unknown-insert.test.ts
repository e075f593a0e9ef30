import t from 'tap'
import { createClock } from '../../../benchmarks/cluster/clock.js'
import { claimNext } from '../../../pipeline/store/claim.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { createCatchUp } from '../../../pipeline/store/replicas.js'
import { sql } from '../../../pipeline/store/sql.js'
import { compareWithKeeper } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { profile } from '../customers/registering.js'

const { stores, close } = await createReplicas(profile)
t.teardown(close)
const { r1, r2 } = stores

const numbersOf = async (store: Store) => {
  const rows = await store.rows<{ number: number }>({
    sql: 'SELECT toUInt32(published_seq) AS number FROM publication ORDER BY number',
  })
  return rows.map(({ number }) => number)
}
const rowOf = (claim: string) => ({ kind: 'change', change: 1, published_seq: 1, claim })
const token = 'publication-1'

/** Of the engine's faults this one loses Keeper in the first insert: after the part is stored, before it is recorded. */
const losingKeeper = {
  insert_keeper_fault_injection_probability: 0.1,
  insert_keeper_fault_injection_seed: 56,
  insert_keeper_max_retries: 0,
}

t.test('a part that only one server knows decides nothing', async (t) => {
  const settings = {
    insert_deduplicate: 1,
    insert_deduplication_token: token,
    ...losingKeeper,
  } as const
  await t.rejects(r1.insert('publication', [rowOf('first')], settings), {
    message: /Unknown status of part/,
    retry: true,
  })
  t.same([await numbersOf(r1), await numbersOf(r2)], [[1], []], 'the server shows what no log has')
  await t.rejects(createCatchUp(r1)(), {
    ...{ code: 'STORE_UNREACHABLE', retry: true },
    message: /has yet to compare parts of publication with Keeper/,
  })
  const own = sql`SELECT claim FROM publication WHERE claim = 'second'`
  const bid = { token, rows: [rowOf('second')], own }
  const claim = () => claimNext(r1, 'publication', async () => bid)
  await t.rejects(claim, { code: 'STORE_UNREACHABLE', retry: true }, 'a job that has begun before')
  await compareWithKeeper(r1)
  await createClock().retried(createCatchUp(r1))
  t.same(await numbersOf(r1), [], 'the rows were not stored')
  t.same(await claim(), [{ claim: 'second' }])
  t.same([await numbersOf(r1), await numbersOf(r2)], [[1], [1]])
})

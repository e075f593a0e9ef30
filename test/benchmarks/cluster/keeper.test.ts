import t from 'tap'
import { createClock } from '../../../benchmarks/cluster/clock.js'
import { createKeeper } from '../../../benchmarks/cluster/keeper.js'
import { profile } from '../../pipeline/customers/registering.js'
import { createReplicas } from '../../rig/replicas/start.js'

const drawing = (drawn: Readonly<Record<number, number>>) => (stream: number, among: number) =>
  (drawn[stream] ?? 0) % among
const insert = 'INSERT INTO file_state'

t.test('while Keeper is away what is replicated is refused, and nothing else', async (t) => {
  const clock = createClock()
  const keeper = createKeeper(clock, drawing({ 31: 1, 32: 1, 33: 1 }))
  t.equal(keeper.refusal(insert, 'r1'), undefined)
  keeper.leave('r1')
  for (const text of [
    insert,
    'ALTER TABLE `usage_read` ATTACH PARTITION tuple() FROM `staging_1_whole_2`',
    'DELETE FROM `chunk_receipt` WHERE arrival = 1',
    'SYSTEM SYNC REPLICA `reject` LIGHTWEIGHT',
  ]) {
    t.match(keeper.refusal(text, 'r1'), { code: 'STORE_UNREACHABLE' }, text)
    t.equal(keeper.refusal(text, 'r2'), undefined, 'the other replica has not lost it')
  }
  for (const text of [
    'SELECT * FROM file_state FINAL',
    'SELECT table FROM system.replicas',
    'INSERT INTO `staging_1_read` SELECT 1',
    'ALTER TABLE `staging_1_whole_2` ATTACH PARTITION tuple() FROM `staging_1_read`',
    'INSERT INTO `bill_member_20260304` SELECT 1',
  ]) {
    t.equal(keeper.refusal(text, 'r1'), undefined, text)
  }
  for (let statements = 0; statements < 10; statements++) clock.tick()
  t.equal(keeper.refusal(insert, 'r1'), undefined, 'it is back after a second')
})

t.test('a write in whose middle Keeper is lost is carried out, and none after it', async (t) => {
  const keeper = createKeeper(createClock(), drawing({ 30: 5 }))
  keeper.leave('r1')
  t.equal(keeper.refusal(insert, 'r1'), undefined)
  t.match(keeper.lost(insert), { code: 'STORE_UNREACHABLE' })
  t.equal(keeper.lost(insert), undefined)
  t.ok(keeper.refusal(insert, 'r1'))
  t.ok(keeper.refusal(insert, 'r2'), 'it has left both')
  t.ok(keeper.refusal('SELECT table FROM system.replicas', 'r1'), 'the replica knows')
})

t.test('the engine loses Keeper within an insert, before or after a request', async (t) => {
  const { stores, close } = await createReplicas(profile)
  t.teardown(close)
  let drawn = 0
  const keeper = createKeeper(createClock(), () => drawn++)
  const failed: unknown[] = []
  for (let arrival = 1; arrival <= 30; arrival++) {
    const insert = stores.r1.insert('arrival', [{ arrival, claim: 'C' }], keeper.failing())
    await insert.catch((error: unknown) => failed.push(error))
  }
  t.ok(failed.length > 0 && failed.length < 30, `${failed.length} of 30 inserts failed`)
  for (const error of failed) t.match(error, { code: 'STORE_UNREACHABLE' })
})

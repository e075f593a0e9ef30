import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createHealing } from '../../../infra/stack/healing.js'
import { readHealed } from '../../../pipeline/ledger/healed.js'
import { createStore } from '../../../pipeline/store/clickhouse.js'
import { Fault } from '../../../schemas/fault.js'
import { migratedStore } from '../../pipeline/customers/registering.js'
import { until } from '../../story/rig/stack.js'

const lookMs = 10

t.test('an outage of an external server is recorded once it answers again', async (t) => {
  const store = await migratedStore(t)
  const failures: Fault[] = []
  const healing = createHealing((fault) => failures.push(fault), lookMs)
  let away: Fault | undefined
  let asked = 0
  const ask = async () => {
    asked++
    if (away !== undefined) throw away
  }
  const looks = async (count: number) => {
    const from = asked
    await until(() => asked >= from + count)
  }
  healing.open(createStore(store.address, 'discreet'), [{ name: 'Redis', ask }])
  t.teardown(healing.close)
  await looks(3)
  away = new Fault('QUEUE_UNREACHABLE', 'Redis at h: refused')
  await looks(3)
  t.same(await readHealed(store, new Date()), [], 'not while it lasts')
  away = undefined
  await until(async () => (await readHealed(store, new Date())).length > 0)
  const [row] = await readHealed(store, new Date())
  t.match(row, { kind: 'server', subject: 'Redis', times: 1, code: 'QUEUE_UNREACHABLE' })
  t.ok(row && row.beganAt < row.healedAt)
  t.same(failures, [])
})

t.test('what healed before the store answers is recorded when it does', async (t) => {
  const store = await migratedStore(t)
  const healing = createHealing(() => undefined)
  healing.restarted('Redis', { beganAt: new Date(), detail: 'SIGKILL' })
  await sleep(5)
  healing.open(createStore(store.address, 'discreet'), [])
  await healing.close()
  const rows = await readHealed(store, new Date())
  t.match(rows, [{ kind: 'restart', subject: 'Redis', detail: 'SIGKILL' }])
})

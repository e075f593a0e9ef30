import { t } from 'tap'
import { endClients } from '../../../pipeline/customers/registrations.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { createLineOn } from '../../pipeline/by-hand.js'
import { profile, registeringAt } from '../../pipeline/customers/registering.js'
import { createErasing } from '../../pipeline/erase/erasing.js'
import { lag, synchronize } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { oneOfEach } from '../../rig/sample.js'
import { createDetour, repeat } from './moving.js'

const world = await createReplicas({ ...profile, store: { durability: 'one' } })
t.teardown(() => world.close())
const test = oneOfEach(2, t)
const { r1, r2 } = world.stores

/** Whether the other replica answers a statement. */
let isElsewhere: (statement: string) => boolean = () => false
const client = createDetour(world, (statement) => isElsewhere(statement))
const line = createLineOn(client.store, t.testdir(), {})
const { known, terminate, load } = createErasing(line)

const nextOf = (account: string) => `${account}-next`

/** An account that is to be erased, and who came behind it. */
async function succeeded(account: string): Promise<void> {
  for (const [month, one] of [account, nextOf(account)].entries()) {
    const place = { accountNumber: one, externalSiteId: account, meterId: account }
    await known({ ...place, clientId: one })
    await load(`DEMO_0${month + 7}062024`, {
      ...place,
      startsAt: `2024-06-02T0${month + 5}:00:00Z`,
    })
  }
  await terminate({ account_number: account })
  await synchronize(r2)
}

/** Erases while the other replica deletes nothing from some tables, and answers some statements. */
async function eraseBeside(tables: readonly string[], answers: typeof isElsewhere): Promise<void> {
  await lag(r2, 'replication queues', { to: 'STOP', tables })
  isElsewhere = answers
  await repeat(() => eraseDue(line.context, { replicaSeconds: 1 }))
  isElsewhere = () => false
  await lag(r2, 'replication queues', { to: 'START', tables })
  await repeat(() => eraseDue(line.context, { replicaSeconds: 600 }))
}

test('a row is counted once, whichever server says how many are left', async (t) => {
  await succeeded('COUNTED')
  let looks = 0
  await eraseBeside(['usage_read'], (statement) => {
    const isLook = /^SELECT account_number AS account, .* FROM `usage_read`/s.test(statement)
    if (isLook) looks++
    return looks === 2 && (isLook || statement.startsWith('INSERT INTO published_rows'))
  })
  t.ok(looks >= 2, 'it has moved')
  const rows = await r1.rows({
    sql: `SELECT toUInt32(counts['usage_read']) AS counted, (
        SELECT toInt32(sum(rows)) FROM published_rows FINAL WHERE kind = 'erased' AND target = 'usage_read') AS entered
      FROM erasure FINAL WHERE account_number = 'COUNTED'`,
  })
  t.same(rows, [{ counted: 1, entered: -1 }])
})

test('the next tenant can leave, whichever server said who was there', async (t) => {
  await succeeded('LEFT')
  let [isErased, isAway, looks] = [false, false, 0]
  await eraseBeside(['registration_fact', 'account_meter'], (statement) => {
    isErased ||= statement.startsWith('ALTER TABLE `tenancy` DELETE')
    // All that one decision asks.
    if (/^CREATE TABLE `staging_\d+_server_/.test(statement)) isAway = isErased
    if (statement.startsWith('INSERT INTO')) isAway = false
    if (isAway && /^SELECT.* FROM (registration_fact|account_meter)/s.test(statement)) looks++
    return isAway
  })
  t.ok(looks > 0, 'it has moved')
  await endClients(registeringAt(client.store), [nextOf('LEFT')], 'left')
  const seen = await r1.rows({
    sql: `SELECT account_number, client_ids FROM registered_usage WHERE meter_id = 'LEFT'`,
  })
  t.same(seen, [])
})

test('a stored day is built without what is erased', async (t) => {
  await succeeded('DAY')
  let looks = 0
  await eraseBeside(['usage_read'], (statement) => {
    const isDue = statement.startsWith('INSERT INTO usage_day_row')
    if (isDue) looks++
    return looks <= 2 && isDue
  })
  t.ok(looks > 0, 'it has moved')
  const days = await r1.rows({
    sql: `SELECT toUInt32(quantity) AS quantity FROM usage_day WHERE meter_id = 'DAY'`,
  })
  t.same(days, [{ quantity: 1 }])
})

import t from 'tap'
import { claimHeld } from '../../../../pipeline/customers/registrations.js'
import { eraseDue, eraseStarted } from '../../../../pipeline/steps/erase.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { sql } from '../../../../pipeline/store/sql.js'
import { oneOfEach, sample } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { createErasing } from '../../erase/erasing.js'
import { loadFiles } from '../../groups/rig.js'
import { clientOf, createMeters, hourly, under, wholeDay } from '../../usage/lengths/meters.js'
import { createRepairing } from '../../usage/lengths/repairing.js'
import { createConsumer } from '../consumer.js'

const line = await createLineByHand(t)
const test = oneOfEach(2, t)
const { store } = line.context
const meters = createMeters(line)
const { name, send, isSound } = meters
/** In the short run the end of this file looks at all meters. */
const isSoundSoFar = sample({ short: async () => undefined, long: isSound })
const consumer = createConsumer(store)

const registered = {
  ...line.context,
  profile: { ...line.context.profile, ingestion: 'registered' as const },
}

const enter = (meterId: string, ...accounts: readonly string[]) =>
  meters.enter([meterId], accounts, registered)
const load = (...rows: readonly string[]) => send(rows, 'Electric', registered)

/** The hours of a meter that the client of an account sees, with their quantities. */
async function hoursOf(account: string, meter: string): Promise<Readonly<Record<string, number>>> {
  const rows = await store.rows<{ hour: number; quantity: number }>({
    sql: sql`SELECT local_hour AS hour, toUInt32(quantity) AS quantity FROM registered_usage
      WHERE meter_id = ${meter} AND local_day < '2024-06-03' AND has(client_ids, ${clientOf(account, meter)})`,
  })
  return Object.fromEntries(rows.map(({ hour, quantity }) => [hour, quantity]))
}

const hoursWithout = (...gone: readonly number[]) =>
  Object.fromEntries(wholeDay.filter((hour) => !gone.includes(hour)).map((hour) => [hour, 1]))

const changesOf = (meter: string) =>
  store.rows({
    sql: sql`SELECT toString(local_day) AS day, client_ids_before AS before, client_ids_after AS after
      FROM usage_change WHERE meter_id = ${meter} AND cause = 'read' ORDER BY published_seq`,
  })

test('a read that is moved to an account of nobody leaves its client', async (t) => {
  await enter('M', 'A')
  await load(...hourly('M', 1, wholeDay, 1))
  await consumer.pull()
  const late = await line.takeIn(name(), hourly('M', 1, [8, 10], 3))
  const state = await load(...under('X', hourly('M', 1, [8], 5)))
  t.match(state, { rows: { read: 1, accepted: 0, unregistered: 1 }, notes: { ended: 1 } })
  t.match(state.notes.warnings?.join(), 'no client sees them since')
  t.same(await hoursOf('A', 'M'), hoursWithout(8))
  t.same(await changesOf('M'), [{ day: '2024-06-01', before: ['A-M'], after: [] }])
  t.same(await store.rows({ sql: sql`SELECT 1 FROM usage WHERE account_number = 'X'` }), [])
  await isSoundSoFar(t)

  await reconcile(registered, late)
  await settle(registered, late)
  t.match(await line.context.ledger.state(late), { rows: { accepted: 1, superseded: 1 } })
  t.same(await hoursOf('A', 'M'), { ...hoursWithout(8), 10: 3 }, 'an earlier file changes nothing')
  await load(...hourly('M', 1, [9], 2), ...under('X', hourly('M', 1, [9], 2)))
  t.same(
    await hoursOf('A', 'M'),
    { ...hoursWithout(8, 9), 10: 3 },
    'of one file the last row counts',
  )
  await consumer.pull()
  t.same(await consumer.differences(), [])

  await enter('M', 'A', 'X')
  await claimHeld(registered)
  t.same(await hoursOf('X', 'M'), { 8: 5, 9: 2 }, 'they are of the client who registers with it')
  t.same(await hoursOf('A', 'M'), { ...hoursWithout(8, 9), 10: 3 })
  await load(...hourly('M', 1, [8], 6))
  t.same(await hoursOf('A', 'M'), { ...hoursWithout(9), 8: 6, 10: 3 }, 'a later file gives it back')
  await consumer.pull()
  t.same(await consumer.differences(), [])
  await isSoundSoFar(t)
})

test('a held read that is moved to another account is not claimed by the first one', async (t) => {
  await enter('N', 'A')
  await load(...hourly('N', 2, wholeDay, 1), ...under('X1', hourly('N', 1, wholeDay, 4)))
  await load(...under('X2', hourly('N', 1, [8], 5)))
  await enter('N', 'A', 'X1')
  await claimHeld(registered)
  const { 8: _, ...others } = Object.fromEntries(wholeDay.map((hour) => [hour, 4]))
  t.same(await hoursOf('X1', 'N'), others)
})

test("a read that was moved by a file that is decided first is never its client's", async (t) => {
  await enter('V', 'A')
  const rows = [...hourly('V', 1, wholeDay, 1), ...hourly('V', 2, [8, 9, 10, 11], 1)]
  const late = await line.takeIn(name(), rows)
  await load(...under('X', hourly('V', 1, wholeDay, 5)))
  await reconcile(registered, late)
  await settle(registered, late)
  t.match(await line.context.ledger.state(late), { rows: { accepted: 4, unregistered: 24 } })
  t.same(await hoursOf('A', 'V'), { 8: 1, 9: 1, 10: 1, 11: 1 })
  await load(...hourly('V', 1, [7], 6))
  t.match(await hoursOf('A', 'V'), { 7: 6 }, 'a later file gives it back')
  await isSoundSoFar(t)
})

test('so does a read that is moved to an erased account', async (t) => {
  const { terminate } = createErasing(line)
  await enter('O', 'A', 'E')
  await send([...hourly('O', 1, wholeDay, 1), ...under('E', hourly('O', 2, [0], 1))])
  await send(under('E', hourly('O', 1, [9], 5)))
  const ahead = await line.takeIn(name(), hourly('O', 3, [0], 1))
  await terminate({ account_number: 'E' })
  await eraseDue(line.context)
  const state = await send(under('E', [...hourly('O', 1, [8], 5), ...hourly('O', 2, [0], 2)]))
  t.match(state, { rows: { accepted: 0, unregistered: 2 }, notes: { ended: 1 } })
  t.same(await hoursOf('A', 'O'), hoursWithout(8, 9))
  await reconcile(line.context, ahead)
  await settle(line.context, ahead)
  await eraseStarted(line.context)
  const kept = await store.rows({ sql: sql`SELECT 1 FROM usage_read WHERE account_number = 'E'` })
  t.same(kept, [], 'nothing of it is stored again')
  t.same(
    await hoursOf('A', 'O'),
    hoursWithout(8, 9),
    'nor do reads come back that were moved to it',
  )
})

test('a file that comes in a group ends reads as if it were alone', async (t) => {
  for (const meter of ['P', 'Q']) await enter(meter, 'A')
  await load(...['P', 'Q'].flatMap((meter) => hourly(meter, 1, wholeDay, 1)))
  const files = [under('X', hourly('P', 1, [8], 5)), hourly('Q', 2, [8], 2)]
  await loadFiles(
    { ...line, context: registered },
    files.map((rows) => ({ name: name(), rows })),
    'gathered',
  )
  t.same(await hoursOf('A', 'P'), hoursWithout(8))
})

test('repairs bring back neither the read nor less than it ended', async (t) => {
  const { keep, lose, repairAll } = createRepairing({ ...line, context: registered })
  await enter('R', 'A')
  const first = await keep(name(), hourly('R', 1, wholeDay, 1))
  const before = await store.rows<object>({
    sql: sql`SELECT * FROM usage_read WHERE meter_id = 'R'`,
  })
  const moving = await keep(name(), under('X', hourly('R', 1, [8], 5)))
  for (const lost of [[first], [moving], [first, moving]]) {
    await lose(`bitShiftRight(version, 32) IN (${lost.join(', ')})`)
    await repairAll(t)
    t.same(await hoursOf('A', 'R'), hoursWithout(8), `arrivals ${lost.join()}`)
  }
  // As if the part with the end were lost before the engine has merged it with what it ended.
  await lose("meter_id = 'R'")
  await store.insert('usage_read', before)
  t.same(await hoursOf('A', 'R'), hoursWithout())
  t.equal(await repairAll(t), 1)
  t.same(await hoursOf('A', 'R'), hoursWithout(8), 'only the end was lost')
})

test('a held read that is moved to an erased account is not claimed', async (t) => {
  const { terminate } = createErasing(line)
  await enter('U', 'A', 'E2')
  await enter('W', 'A', 'E2')
  await terminate({ account_number: 'E2' })
  await eraseDue(registered)
  await load(...hourly('U', 2, wholeDay, 1), ...under('X3', hourly('U', 1, wholeDay, 4)))
  await load(...under('E2', hourly('U', 1, [8], 5)))
  await load(
    ...hourly('W', 2, wholeDay, 1),
    ...under('X3', hourly('W', 1, wholeDay, 4)),
    ...under('E2', hourly('W', 1, [8], 5)),
  )
  const { 8: _, ...others } = Object.fromEntries(wholeDay.map((hour) => [hour, 4]))
  for (const meter of ['U', 'W']) {
    await enter(meter, 'A', 'X3')
    await claimHeld(registered)
    t.same(await hoursOf('X3', meter), others)
  }
})

t.test('all that is stored of all meters is sound', (t) => isSound(t))

import t from 'tap'
import { claimHeld } from '../../../../pipeline/customers/registrations.js'
import { createLedger } from '../../../../pipeline/ledger/ledger.js'
import { sql } from '../../../../pipeline/store/sql.js'
import { momentsOf, oneOfEach } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { createConsumer } from '../../customers/consumer.js'
import { dyingStore } from '../../dying.js'
import { createMeters, hourly, row, under, wholeDay } from './meters.js'
import { createRepairing } from './repairing.js'

const line = await createLineByHand(t)
const test = oneOfEach(2, t)
const { store } = line.context
const profile = { ...line.context.profile, ingestion: 'registered' as const }
const context = { ...line.context, profile }
const meters = createMeters(line)
const { send, series, isSound } = meters
const enter = (meterId: string, ...accounts: readonly string[]) =>
  meters.enter([meterId], accounts, context)
const load = (...rows: readonly string[]) => send(rows, 'Electric', context)

test('a file behind the claim proves the length of held reads', async (t) => {
  await enter('M', 'Z')
  await load(...hourly('M', 1, [8], 2))
  await load(...hourly('M', 1, [9], 2))
  t.same(await series('M'), [])
  await enter('M', 'A')
  await claimHeld(context)
  t.same(await series('M'), [{ day: 1, seconds: 900, rows: 2, sum: 4 }])
  t.match(await load(...hourly('M', 2, wholeDay, 1)), {
    notes: { rekeyed: { rows: 2, meters: 1 } },
  })
  t.same(await series('M'), [
    { day: 1, seconds: 3_600, rows: 2, sum: 4 },
    { day: 2, seconds: 3_600, rows: 24, sum: 24 },
  ])
})

test('a guessed read that the proving file moves to nobody ends', async (t) => {
  const { keep, lose, repairAll } = createRepairing({ ...line, context })
  await enter('V', 'A')
  const first = await keep(meters.name(), hourly('V', 1, [8, 20], 2))
  const others = wholeDay.filter((hour) => hour !== 8)
  const state = await load(...hourly('V', 1, others, 1), ...under('X', hourly('V', 1, [8], 5)))
  t.match(state.notes, { ended: 1, rekeyed: { rows: 2 } })
  const left = [{ day: 1, seconds: 3_600, rows: 23, sum: 23 }]
  t.same(await series('V'), left)
  await isSound(t)
  await lose(`bitShiftRight(version, 32) = ${first}`)
  await repairAll(t)
  t.same(await series('V'), left)
  await enter('V', 'A', 'X')
  await claimHeld(context)
  t.same(await series('V'), [{ day: 1, seconds: 3_600, rows: 24, sum: 28 }])
})

test('a length that is proved before the claim is that of the claimed reads', async (t) => {
  await enter('N', 'Z')
  for (const day of [1, 3]) await load(...hourly('N', day, [8], 2))
  await load(...under('Z', hourly('N', 2, wholeDay, 1)))
  await load(...hourly('N', 2, [9], 5))
  await enter('N', 'A')
  await claimHeld(context)
  t.same(await series('N'), [
    { day: 1, seconds: 3_600, rows: 1, sum: 2 },
    { day: 2, seconds: 3_600, rows: 24, sum: 28 },
    { day: 3, seconds: 3_600, rows: 1, sum: 2 },
  ])
})

test('held reads that fill a day prove the length of those that are claimed with them', async (t) => {
  await enter('O', 'Z')
  await load(...hourly('O', 1, [8], 2))
  await load(...hourly('O', 2, [8], 9))
  await load(...hourly('O', 2, wholeDay, 1))
  await load(...hourly('O', 2, [9], 3))
  await enter('O', 'A')
  await claimHeld(context)
  t.same(await series('O'), [
    { day: 1, seconds: 3_600, rows: 1, sum: 2 },
    { day: 2, seconds: 3_600, rows: 24, sum: 26 },
  ])
})

test('hours that were held apart fill their day together', async (t) => {
  await enter('T', 'Z')
  for (const from of [0, 1, 2, 3, 4, 5]) {
    const hours = wholeDay.filter((hour) => hour % 6 === from)
    const own = hourly('T', 2, hours, 1)
    await load(...(from === 0 ? under('Z', own) : own))
  }
  await load(...hourly('T', 3, [5], 2))
  t.same(await series('T'), [{ day: 2, seconds: 900, rows: 4, sum: 4 }])
  await enter('T', 'Z', 'A')
  await claimHeld(context)
  t.same(await series('T'), [
    { day: 2, seconds: 3_600, rows: 24, sum: 24 },
    { day: 3, seconds: 3_600, rows: 1, sum: 2 },
  ])
  await isSound(t)
})

test('they prove the length of stored reads too, and who pulls learns of it', async (t) => {
  await enter('P', 'Z')
  const consumer = createConsumer(store)
  await load(...under('Z', hourly('P', 1, [8], 2)))
  await load(...under('Z', hourly('P', 2, [8], 9)))
  await load(...hourly('P', 2, wholeDay, 1))
  await load(...under('Z', hourly('P', 2, [9], 4)))
  t.match(await series('P'), [
    { day: 1, seconds: 900, rows: 1 },
    { day: 2, seconds: 900, rows: 2 },
  ])
  await consumer.pull()
  await enter('P', 'Z', 'A')
  await claimHeld(context)
  t.same(await series('P'), [
    { day: 1, seconds: 3_600, rows: 1, sum: 2 },
    { day: 2, seconds: 3_600, rows: 24, sum: 27 },
  ])
  await consumer.pull()
  t.same(await consumer.differences(), [])
})

test('others of their file and day got the length before', async (t) => {
  await enter('Q', 'Z')
  await load(...under('Z', [row('Q', 1, 480, 2)]), row('Q', 1, 600, 3))
  t.match(await series('Q'), [{ seconds: 900, rows: 1 }])
  await load(...under('Z', hourly('Q', 2, wholeDay, 1)))
  t.match(await series('Q'), [{ seconds: 3_600, rows: 1 }, { rows: 24 }])
  await enter('Q', 'A')
  await claimHeld(context)
  t.match(await series('Q'), [{ seconds: 3_600, rows: 2, sum: 5 }, { rows: 24 }])
})

/** More than a claim has. */
const writesMax = 32
const isTried = momentsOf(15, writesMax)

t.test('a claim that dies is finished with the same lengths', async (t) => {
  const moments = Array.from({ length: writesMax }, (_, at) => at + 1).filter(isTried)
  const all = moments.map((at) => `R${at}`)
  const ofAll = (rows: (meter: string) => readonly string[]) => all.flatMap(rows)
  await meters.enter(all, ['Z'], context)
  await load(
    ...under(
      'Z',
      ofAll((meter) => hourly(meter, 1, [8], 2)),
    ),
  )
  await load(...ofAll((meter) => hourly(meter, 2, [8], 9)))
  await load(...ofAll((meter) => hourly(meter, 2, wholeDay, 1)))
  await load(...ofAll((meter) => hourly(meter, 1, [9], 3)))
  const consumer = createConsumer(store)
  let isDead = true
  for (const at of moments) {
    if (!isDead) break
    const meter = `R${at}`
    await enter(meter, 'A')
    const pullsFirst = at % 2 === 0
    if (pullsFirst) await consumer.pull()
    const { mortal, died } = dyingStore(store, { at, when: at % 2 ? 'behind' : 'before' })
    const own = { ...context, store: mortal, ledger: createLedger(mortal, context.now) }
    await claimHeld(own).catch(() => undefined)
    isDead = died()
    if (!pullsFirst) await consumer.pull()
    await claimHeld(context)
    t.same(
      await series(meter),
      [
        { day: 1, seconds: 3_600, rows: 2, sum: 5 },
        { day: 2, seconds: 3_600, rows: 24, sum: 24 },
      ],
      `write ${at}`,
    )
    await consumer.pull()
    t.same(await consumer.differences(), [])
  }
  t.notOk(isDead, 'the last writes were met')
  t.same(await store.rows({ sql: sql`SELECT 1 FROM held_claim` }), [])
  await isSound(t)
})

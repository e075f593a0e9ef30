import t from 'tap'
import { claimHeld, register } from '../../../../pipeline/customers/registrations.js'
import { createLedger } from '../../../../pipeline/ledger/ledger.js'
import { sql } from '../../../../pipeline/store/sql.js'
import { createLineByHand } from '../../by-hand.js'
import { createConsumer } from '../../customers/consumer.js'
import { customerAt, registeringAt } from '../../customers/registering.js'
import { dyingStore } from '../../dying.js'
import { createMeters, hourly, row, wholeDay } from './meters.js'

const line = await createLineByHand(t)
const { store } = line.context
const profile = { ...line.context.profile, ingestion: 'registered' as const }
const context = { ...line.context, profile }
const { send, series, isSound } = createMeters(line)
const registering = { ...registeringAt(store), profile }

/** The client of an account, which is the name of both, at a meter. */
const customer = (accountNumber: string, meterId: string) =>
  customerAt({ clientId: accountNumber, accountNumber, externalSiteId: `S-${meterId}`, meterId })
const enter = (meterId: string, ...accounts: readonly string[]) =>
  register(
    registering,
    accounts.map((account) => customer(account, meterId)),
  )
const load = (...rows: readonly string[]) => send(rows, 'Electric', context)
/** Rows of account A under another one. */
const under = (account: string, rows: readonly string[]) =>
  rows.map((one) => one.replace(/^A,/, `${account},`))

t.test('a file behind the claim proves the length of held reads', async (t) => {
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
  await isSound(t)
})

t.test('a length that is proved before the claim is that of the claimed reads', async (t) => {
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
  await isSound(t)
})

t.test(
  'held reads that fill a day prove the length of those that are claimed with them',
  async (t) => {
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
    await isSound(t)
  },
)

t.test('they prove the length of stored reads too, and who pulls learns of it', async (t) => {
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
  await isSound(t)
})

t.test('others of their file and day got the length before', async (t) => {
  await enter('Q', 'Z')
  await load(...under('Z', [row('Q', 1, 480, 2)]), row('Q', 1, 600, 3))
  t.match(await series('Q'), [{ seconds: 900, rows: 1 }])
  await load(...under('Z', hourly('Q', 2, wholeDay, 1)))
  t.match(await series('Q'), [{ seconds: 3_600, rows: 1 }, { rows: 24 }])
  await enter('Q', 'A')
  await claimHeld(context)
  t.match(await series('Q'), [{ seconds: 3_600, rows: 2, sum: 5 }, { rows: 24 }])
  await isSound(t)
})

/** More than a claim has. */
const writesMax = 30

t.test('a claim that dies is finished with the same lengths', async (t) => {
  const meters = Array.from({ length: writesMax }, (_, at) => `R${at + 1}`)
  const ofAll = (rows: (meter: string) => readonly string[]) => meters.flatMap(rows)
  for (const meter of meters) await enter(meter, 'Z')
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
  for (let at = 1; isDead && at <= writesMax; at++) {
    const meter = `R${at}`
    await enter(meter, 'A')
    if (at % 3 === 0) await consumer.pull()
    const { mortal, died } = dyingStore(store, { at, when: at % 2 ? 'behind' : 'before' })
    const own = { ...context, store: mortal, ledger: createLedger(mortal, context.now) }
    await claimHeld(own).catch(() => undefined)
    isDead = died()
    if (at % 3 !== 0) await consumer.pull()
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
  t.notOk(isDead, 'each write was the last one once')
  t.same(await store.rows({ sql: sql`SELECT 1 FROM held_claim` }), [])
  await isSound(t)
})

import t from 'tap'
import { sql } from '../../../../pipeline/store/sql.js'
import { createLineByHand } from '../../by-hand.js'
import { createMeters, hourly, row, wholeDay } from './meters.js'

const line = await createLineByHand(t, { usage: { stamp: 'end' } })
const { store } = line.context
const { send, series, isSound } = createMeters(line)
const ends = (hours: readonly number[]) => hours.map((hour) => hour + 1)
const starts = (meter: string) =>
  store.rows({
    sql: sql`SELECT toDayOfMonth(local_day) AS day, local_hour AS hour, toUInt32(quantity) AS quantity FROM usage
      WHERE meter_id = ${meter} AND day = 1 ORDER BY starts_at`,
  })

t.test(
  'hourly gas that is pushed with times at the end is kept, and has its hours in the end',
  async (t) => {
    for (const hour of [0, 8, 9, 22]) {
      const state = await send(hourly('G', 1, ends([hour]), 2 + hour), 'Gas')
      t.match(state, { rows: { accepted: 1 }, restated: { rows: 0 } }, 'it replaces no other hour')
    }
    await send([row('G', 2, 0, 25)], 'Gas')
    const before = (await series('G')) as readonly { day: number; rows: number; sum: number }[]
    t.match(before, [{ day: 1, seconds: 86_400, rows: 5, sum: 72 }])
    await isSound(t)
    const proving = await send(hourly('G', 2, ends(wholeDay.slice(0, 23)), 1), 'Gas')
    t.match(proving.notes, { rekeyed: { rows: 5, meters: 1 } })
    t.same(await starts('G'), [
      { day: 1, hour: 0, quantity: 2 },
      { day: 1, hour: 8, quantity: 10 },
      { day: 1, hour: 9, quantity: 11 },
      { day: 1, hour: 22, quantity: 24 },
      { day: 1, hour: 23, quantity: 25 },
    ])
    t.match(await series('G'), [{ seconds: 3_600 }, { seconds: 3_600, rows: 23 }])
    await isSound(t)
  },
)

t.test('days that turn out to be days are stored once', async (t) => {
  await send([row('D', 1, 480, 2)], 'Gas')
  await send([row('D', 5, 0, 3)], 'Gas')
  t.match(await series('D'), [
    { day: 1, seconds: 86_400, rows: 1 },
    { day: 4, seconds: 86_400, rows: 1 },
  ])
  await send(
    [1, 2, 3].map((day) => row('D', day, 480, 4)),
    'Gas',
  )
  t.same(await series('D'), [
    { day: 1, seconds: 86_400, rows: 1, sum: 4 },
    { day: 2, seconds: 86_400, rows: 1, sum: 4 },
    { day: 3, seconds: 86_400, rows: 1, sum: 4 },
    { day: 4, seconds: 86_400, rows: 1, sum: 3 },
  ])
  const corrected = await send([row('D', 3, 480, 9)], 'Gas')
  t.match(corrected, { restated: { rows: 1 }, notes: { provisionalMeters: undefined } })
  await isSound(t)
})

t.test(
  'an hour of a meter whose daily reads came as dates takes the place of no day',
  async (t) => {
    await send(['A,S-E,E,5/31/2024,20', 'A,S-E,E,6/1/2024,24'], 'Gas')
    for (const hour of [4, 5]) {
      const pushed = await send(hourly('E', 1, ends([hour]), 1), 'Gas')
      t.match(pushed, { restated: { rows: 0 }, notes: { provisionalMeters: 1 } })
    }
    const corrected = await send(['A,S-E,E,6/1/2024,25'], 'Gas')
    t.match(corrected, { restated: { rows: 1, netQuantity: '1' } })
    const proving = await send(hourly('E', 2, ends(wholeDay.slice(0, 23)), 1), 'Gas')
    t.match(proving.notes, { rekeyed: { rows: 2 } })
    t.same(await series('E'), [
      { day: 1, seconds: 3_600, rows: 2, sum: 2 },
      { day: 1, seconds: 86_400, rows: 1, sum: 25 },
      { day: 2, seconds: 3_600, rows: 23, sum: 23 },
      { day: 31, seconds: 86_400, rows: 1, sum: 20 },
    ])
    await isSound(t)
  },
)

t.test('where times are at the start, an hour takes the place of no day either', async (t) => {
  const atStart = await createLineByHand(t)
  const { send, series, isSound } = createMeters(atStart)
  await send(['A,S-E,E,6/1/2024,24'], 'Gas')
  for (const hour of [0, 4, 5]) {
    const pushed = await send(hourly('E', 2, [hour], 1), 'Gas')
    t.match(pushed, { restated: { rows: 0 }, notes: { provisionalMeters: 1 } })
  }
  await send(['A,S-E,E,6/2/2024,24'], 'Gas')
  const proving = await send(hourly('E', 3, wholeDay, 1), 'Gas')
  t.match(proving.notes, { rekeyed: { rows: 2 } })
  t.match(await series('E'), [
    { day: 1, seconds: 86_400, sum: 24 },
    { day: 2, seconds: 3_600, rows: 2 },
    { day: 2, seconds: 86_400, rows: 1, sum: 24 },
    { day: 3, seconds: 3_600, rows: 24 },
  ])
  await send(
    [1, 2, 3].map((day) => row('T', day, 480, 4)),
    'Gas',
  )
  for (const [minutes, provisionalMeters] of [[480], [540, 1]] as const) {
    const pushed = await send([row('T', 4, minutes, 4)], 'Gas')
    t.match(pushed, { restated: { rows: 0 }, notes: { provisionalMeters } })
  }
  await isSound(t)
})

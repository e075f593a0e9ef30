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
  await isSound(t)
})

import t from 'tap'
import { sql } from '../../../../pipeline/store/sql.js'
import { buildAllDays } from '../../../../pipeline/usage/days/build.js'
import { createLineByHand } from '../../by-hand.js'
import { createMeters, hourly, quarters, row, wholeDay } from './meters.js'

const line = await createLineByHand(t)
const { store } = line.context
const { send, series, seriesAt, isSound } = createMeters(line)

t.test(
  'reads that were pushed one by one are stored once when a day proves their length',
  async (t) => {
    for (const hour of [8, 9, 11]) await send(hourly('H', 1, [hour], 2))
    const pushed = await send(hourly('H', 2, [9], 3))
    t.same(await series('H'), [
      { day: 1, seconds: 900, rows: 3, sum: 6 },
      { day: 2, seconds: 900, rows: 1, sum: 3 },
    ])
    await buildAllDays({ store })
    const proving = await send(hourly('H', 2, wholeDay, 1))
    t.match(proving, {
      status: 'published',
      rows: { accepted: 24 },
      restated: { rows: 1, netQuantity: '-2' },
      notes: { rekeyed: { rows: 4, meters: 1 } },
    })
    t.same(await series('H'), [
      { day: 1, seconds: 3_600, rows: 3, sum: 6 },
      { day: 2, seconds: 3_600, rows: 24, sum: 24 },
    ])
    await isSound(t)
    t.same(await seriesAt('H', pushed.publishedAt), [
      { day: 1, seconds: 900, rows: 3, sum: 6 },
      { day: 2, seconds: 900, rows: 1, sum: 3 },
    ])
    t.same(await seriesAt('H', proving.publishedAt), await series('H'))
    const news = await store.rows({
      sql: sql`SELECT toDayOfMonth(local_day) AS day, toUInt32(count()) AS rows FROM usage
      WHERE meter_id = 'H' AND published_seq > (
        SELECT max(published_seq) FROM publication WHERE arrival = ${pushed.arrival})
      GROUP BY day ORDER BY day`,
    })
    t.same(
      news,
      [
        { day: 1, rows: 3 },
        { day: 2, rows: 24 },
      ],
      'all of them have its number',
    )
    const listed = await store.rows({
      sql: sql`SELECT toDayOfMonth(local_day) AS day, cause FROM usage_change WHERE meter_id = 'H' ORDER BY day`,
    })
    t.same(listed, [
      { day: 1, cause: 'read' },
      { day: 2, cause: 'read' },
    ])
    const restated = await store.rows({
      sql: sql`SELECT toDayOfMonth(local_day) AS day, seconds, new_seconds, toUInt32(old_quantity) AS old,
        toUInt32(new_quantity) AS new
      FROM usage_restatement WHERE meter_id = 'H' ORDER BY day, starts_at, seconds`,
    })
    t.same(restated, [
      ...[1, 2, 3].map(() => ({ day: 1, seconds: 900, new_seconds: 3_600, old: 2, new: 2 })),
      { day: 2, seconds: 900, new_seconds: 3_600, old: 3, new: 3 },
      { day: 2, seconds: 3_600, new_seconds: 3_600, old: 3, new: 1 },
    ])
    const again = await send(hourly('H', 1, [8, 9, 11], 2))
    t.match(again, { rows: { duplicate: 3 }, notes: { rekeyed: undefined } })
    await isSound(t)
  },
)

t.test('lengths get shorter, longer, and stay where the reads of a day do not fit', async (t) => {
  await send([row('I', 1, 480, 1), row('I', 1, 540, 1)])
  t.match(await series('I'), [{ day: 1, seconds: 3_600 }])
  await send(quarters('I', 2, 1))
  t.same(await series('I'), [
    { day: 1, seconds: 900, rows: 2, sum: 2 },
    { day: 2, seconds: 900, rows: 96, sum: 96 },
  ])
  await send([row('J', 1, 480, 1)])
  await send([row('J', 1, 495, 1)])
  await send([row('J', 2, 495, 1)])
  const state = await send(hourly('J', 3, wholeDay, 1))
  t.match(state.notes, { rekeyed: { rows: 1 } })
  t.match(state.notes.warnings, [/1 of 1 meters/])
  t.same(await series('J'), [
    { day: 1, seconds: 900, rows: 2, sum: 2 },
    { day: 2, seconds: 3_600, rows: 1, sum: 1 },
    { day: 3, seconds: 3_600, rows: 24, sum: 24 },
  ])
  t.match(await send(hourly('J', 3, wholeDay, 1)), { rows: { duplicate: 24 } })
  await send(hourly('G', 1, [8], 1), 'Gas')
  await send(hourly('G', 2, [9], 1), 'Gas')
  t.match(await series('G'), [{ seconds: 86_400 }, { seconds: 86_400 }])
  await send(hourly('G', 2, wholeDay, 2), 'Gas')
  t.same(await series('G'), [
    { day: 1, seconds: 3_600, rows: 1, sum: 1 },
    { day: 2, seconds: 3_600, rows: 24, sum: 48 },
  ])
  await isSound(t)
})

t.test('a length that was proved is never replaced', async (t) => {
  await send([row('K', 1, 480, 1)])
  const confirmed = await send(quarters('K', 2, 1))
  t.match(confirmed.notes, { rekeyed: { rows: 0 }, warnings: undefined })
  const changed = await send(hourly('K', 3, wholeDay, 1))
  t.match(changed.notes, { rekeyed: undefined })
  t.match(await series('K'), [{ seconds: 900 }, { seconds: 900 }, { seconds: 3_600 }])
})

t.test('reads that meet under one length: the latest wins', async (t) => {
  await send([row('L', 1, 480, 1), row('L', 1, 540, 1)])
  await send([row('L', 1, 480, 5), row('L', 1, 495, 5)])
  t.match(await series('L'), [
    { seconds: 900, rows: 2 },
    { seconds: 3_600, rows: 2 },
  ])
  const state = await send(quarters('L', 2, 1))
  t.match(state.notes, { rekeyed: { rows: 2 } })
  t.match(await series('L'), [{ day: 1, seconds: 900, rows: 3, sum: 11 }, { rows: 96 }])
  await isSound(t)
  await store.command({ sql: sql`OPTIMIZE TABLE usage_read FINAL` })
  t.match(await series('L'), [{ day: 1, seconds: 900, rows: 3, sum: 11 }, { rows: 96 }])
  await isSound(t)
})

t.test(
  'the days of stored reads are stale for all meters where a large file proves them',
  async (t) => {
    await send(hourly('W', 5, [9], 3))
    const others = Array.from({ length: 1_000 }, (_, of) => hourly(`W${of}`, 6, wholeDay, 1))
    const { arrival, notes } = await send([...hourly('W', 6, wholeDay, 1), ...others.flat()])
    t.match(notes, { rekeyed: { rows: 1 } })
    const marks = await store.rows({
      sql: sql`SELECT toDayOfMonth(local_day) AS day, meter_id AS meter, arrival = ${arrival} AS isOwn
      FROM stale_day WHERE change = ${arrival} AND NOT is_built ORDER BY day`,
    })
    t.same(marks, [
      { day: 5, meter: '', isOwn: 0 },
      { day: 6, meter: '', isOwn: 1 },
    ])
  },
)

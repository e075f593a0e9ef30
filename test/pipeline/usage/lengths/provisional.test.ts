import t from 'tap'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { sql } from '../../../../pipeline/store/sql.js'
import { createLineByHand } from '../../by-hand.js'

const line = await createLineByHand(t)
const { context, takeIn } = line
const { store } = context

let files = 0
async function send(rows: readonly string[], feed = 'Electric') {
  const arrival = await takeIn(`DEMO_02062024_${feed}_${files++}.csv`, rows)
  await reconcile(context, arrival)
  await settle(context, arrival)
  const state = await context.ledger.state(arrival)
  if (state === undefined) throw new Error('it has no state')
  return state
}

const clock = (minutes: number) =>
  `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`
const row = (meter: string, minutes: number, quantity: number) =>
  `A,S-${meter},${meter},6/1/2024 ${clock(minutes)},${quantity}`
const onDay = (day: number, rows: readonly string[]) =>
  rows.map((one) => one.replace('6/1/', `6/${day}/`))
const hourly = (meter: string, hours: readonly number[], quantity: number) =>
  hours.map((hour) => row(meter, hour * 60, quantity))
const quarters = (meter: string, quantity: number) =>
  Array.from({ length: 96 }, (_, slot) => row(meter, slot * 15, quantity))

const sums = (meter: string) =>
  store.rows<{ seconds: number; rows: string; sum: string }>({
    sql: sql`SELECT seconds, toString(count()) AS rows, toString(sum(quantity)) AS sum FROM usage
      WHERE meter_id = ${meter} GROUP BY seconds ORDER BY seconds`,
  })

t.test('three reads in succession win over a length that nothing proved', async (t) => {
  for (const hour of [8, 9]) {
    t.match((await send(hourly('P', [hour], 1))).notes.warnings, [/provisional/])
  }
  t.match(await sums('P'), [{ seconds: 900, rows: '2' }])
  const state = await send(hourly('P', [10, 11, 12], 1))
  t.match(state, { status: 'published', rows: { accepted: 3, rejected: 0 } })
  t.match(await sums('P'), [{ seconds: 3_600, rows: '5' }])
  await send(hourly('P', [14, 16], 1))
  t.match(await sums('P'), [{ seconds: 3_600, rows: '7' }], 'and hold then')
})

t.test('a length that a day has proved since is not provisional any more', async (t) => {
  await send(hourly('Q', [10], 2))
  await send(quarters('Q', 1))
  const state = await send(hourly('Q', [10, 11, 12], 3))
  t.match(state, { status: 'quarantined', rows: { rejected: 3 } })
  t.match(await sums('Q'), [{ seconds: 900, rows: '96', sum: '96' }])
})

t.test('a file that fills a day proves the length of its other days', async (t) => {
  await send(hourly('R', [5], 2))
  t.match(await sums('R'), [{ seconds: 900, rows: '1' }])
  const most = Array.from({ length: 23 }, (_, at) => (at < 12 ? at : at + 1))
  const proving = await send([...hourly('R', [5], 2), ...onDay(2, hourly('R', most, 1))])
  t.match(proving.notes, { rekeyed: { rows: 1 }, provisionalMeters: undefined })
  t.same(await sums('R'), [{ seconds: 3_600, rows: '24', sum: '25' }])
  const state = await send(
    onDay(
      3,
      [0, 15, 30].map((minutes) => row('R', minutes, 1)),
    ),
  )
  t.match(state, { status: 'quarantined', rows: { rejected: 3 } })
})

t.test('of the days of a meter those are recorded that nothing proves', async (t) => {
  const whole = Array.from({ length: 24 }, (_, hour) => hour)
  await send(onDay(2, hourly('V', whole, 1)))
  const state = await send([...hourly('V', [5], 2), ...onDay(3, hourly('V', [5], 2))])
  t.match(state, { notes: { provisionalMeters: 1 } })
  const days = await store.rows({
    sql: sql`SELECT toDayOfMonth(local_day) AS day, seconds FROM provisional_length FINAL WHERE meter_id = 'V'`,
  })
  t.same(days, [{ day: 1, seconds: 3_600 }])
})

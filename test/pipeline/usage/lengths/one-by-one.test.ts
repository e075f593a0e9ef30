import t from 'tap'
import { sql } from '../../../../pipeline/store/sql.js'
import { someOf } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { createMeters, quarters, row, wholeDay } from './meters.js'

const cases = [
  { feed: 'Electric', stamp: 'start', hoursEach: 3 },
  { feed: 'Electric', stamp: 'end', hoursEach: 3 },
  { feed: 'Gas', stamp: 'end', hoursEach: 1 },
] as const

/** Hours of nine tenths of a day. */
const hoursMin = 22

for (const { feed, stamp, hoursEach } of someOf(cases)) {
  t.test(
    `${feed} hours that come apart fill a day together, stamped at the ${stamp}`,
    async (t) => {
      const line = await createLineByHand(t, { usage: { stamp } })
      const { send, series, isSound } = createMeters(line)
      const apart = 24 / hoursEach
      for (let hour = 0; hour < apart; hour++) {
        const rows = wholeDay.filter((one) => one % apart === hour).map((one) => hourOf(one, stamp))
        const { rows: counted, notes } = await send(rows, feed)
        t.equal(counted.accepted, hoursEach)
        const stored = (hour + 1) * hoursEach
        const isFull = stored >= hoursMin
        const isFirst = isFull && stored - hoursEach < hoursMin
        t.equal(notes.provisionalMeters, isFull ? undefined : 1, `${stored} hours`)
        t.match(notes, { rekeyed: isFirst ? { rows: stored - hoursEach, meters: 1 } : undefined })
        if (isFull) {
          t.same(await series('H'), [{ day: 2, seconds: 3_600, rows: stored, sum: stored }])
        }
      }
      await isSound(t)
    },
  )
}

function hourOf(hour: number, stamp: 'start' | 'end'): string {
  const at = stamp === 'end' ? hour + 1 : hour
  return at === 24 ? row('H', 3, 0, 1) : row('H', 2, at * 60, 1)
}

t.test('two files prove the length that both were given, and gaps prove none', async (t) => {
  const line = await createLineByHand(t)
  const { send, series, isSound } = createMeters(line)
  const every = (meter: string, from: number, of: number) =>
    quarters(meter, 2, 1).filter((_, slot) => slot % of === from)
  await send(every('Q', 0, 2))
  const second = await send(every('Q', 1, 2))
  t.match(second.notes, { provisionalMeters: undefined, rekeyed: { rows: 0 } })
  t.same(await series('Q'), [{ day: 2, seconds: 900, rows: 96, sum: 96 }])
  const open = sql`SELECT meter_id FROM provisional_length FINAL WHERE proved_by = 0`
  t.same(await line.context.store.rows({ sql: open }), [])
  await send(every('P', 0, 3))
  const gaps = await send(every('P', 1, 3))
  t.match(gaps.notes, { provisionalMeters: 1, rekeyed: undefined })
  await isSound(t)
})

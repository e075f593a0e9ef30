import t from 'tap'
import { sql, typed } from '../../../../pipeline/store/sql.js'
import { randomFrom, runs, someOf } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { createMeters, row } from './meters.js'
import { createRepairing } from './repairing.js'

const seed = Math.floor(Math.random() * 2 ** 31)
const files = 5
const lastDay = 4

for (const stamp of someOf(['start', 'end'] as const, 1, seed)) {
  t.test(`a repair leaves what the files have left: ${stamp}, seed ${seed}`, async (t) => {
    const random = randomFrom(seed)
    const pick = (count: number) => Math.floor(random() * count)
    const line = await createLineByHand(t, { usage: { stamp } })
    const { store } = line.context
    const { name, isSound } = createMeters(line)
    const { keep, lose, repairAll } = createRepairing(line)
    const rowsOf = (meter: string, minutes: number, [day, slots]: [number, readonly number[]]) =>
      slots.map((slot) => {
        const end = (slot + (stamp === 'end' ? 1 : 0)) * minutes
        const [on, at] = end === 1_440 ? [day + 1, 0] : [day, end]
        // Half of what is sent again is equal, and no two times have nearly the same.
        return row(meter, on, at, 10 * (1_440 * on + at) + pick(2))
      })
    /** A part of a meter's days: the file proves its length with a whole day or three in succession, or not. */
    const anyRows = (meter: string, minutes: number) => {
      const slots = Array.from({ length: 1_440 / minutes }, (_, at) => at)
      const day = 1 + pick(lastDay)
      const first = pick(slots.length - 3)
      const way = random()
      if (way < 0.25) return rowsOf(meter, minutes, [day, slots])
      if (way < 0.4) return rowsOf(meter, minutes, [day, slots.slice(first, first + 3)])
      return rowsOf(meter, minutes, [
        day,
        slots.filter((slot) => slot === first || random() < 0.05),
      ])
    }
    /** What readers see now, and what they see of some instant; of equal reads either may have come back. */
    const stateAt = async (instants: readonly string[]) => {
      const columns = sql`meter_id, toString(starts_at) AS at, seconds, toString(local_day) AS day,
        toString(quantity) AS quantity`
      const order = sql`ORDER BY meter_id, at, seconds`
      const past = await Promise.all(
        instants.map((at) =>
          store.rows({
            sql: sql`SELECT ${columns} FROM usage_as_of(known_at = ${typed('DateTime64(3)', at)}) ${order}`,
          }),
        ),
      )
      const restated = await store.rows({
        sql: sql`SELECT meter_id, toString(starts_at) AS at, seconds, new_seconds, toString(old_quantity) AS old,
            toString(new_quantity) AS new, toString(published_seq) AS seq
          FROM usage_restatement ORDER BY ALL`,
      })
      return {
        now: await store.rows({ sql: sql`SELECT ${columns} FROM usage ${order}` }),
        past,
        restated,
      }
    }
    for (let round = 0; round < runs(1); round++) {
      const meters = Array.from({ length: 12 }, (_, at) => ({
        id: `${round}-${at}`,
        minutes: at % 3 === 0 ? 15 : 60,
      }))
      const arrivals: number[] = []
      const instants: string[] = []
      for (let file = 0; file < files; file++) {
        const chosen = meters.filter(() => random() < 0.6)
        const rows = chosen.flatMap(({ id, minutes }) => anyRows(id, minutes))
        if (rows.length === 0) continue
        arrivals.push(await keep(name(), rows))
        instants.push(new Date().toISOString().replace(/[TZ]/g, ' ').trim())
      }
      const before = await stateAt(instants)
      for (const part of ['some', 'all']) {
        const gone = arrivals.filter(() => part === 'all' || random() < 0.5).join(', ') || '0'
        await lose(`bitShiftRight(version, 32) IN (${gone}) OR change IN (${gone})`)
        // Where reads show again that were taken away, only a second look may find what is missing beside them.
        const found = await repairAll(t, { mayRefuse: true })
        const again = found && (await repairAll(t, { mayRefuse: true }))
        if (found === undefined || again === undefined) return
        const after = await stateAt(instants)
        t.same(after.now, before.now, `round ${round}: ${gone} of ${arrivals} is back`)
        t.same(after.past, before.past, `round ${round}: the past is as it was`)
        t.same(after.restated, before.restated)
        t.equal(await repairAll(t), 0)
      }
    }
    await isSound(t)
  })
}

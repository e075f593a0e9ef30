import t from 'tap'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { sql } from '../../../../pipeline/store/sql.js'
import { createZone } from '../../../../schemas/time/zone.js'
import { randomFrom, runs, someOf } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { createMeters, row } from './meters.js'

const seed = Math.floor(Math.random() * 2 ** 31)
const rounds = runs(3, 50)
/** Files of a feed that are there together, and are decided in any order. */
const together = 2
const lastDay = 4

const kinds = [
  { feed: 'Electric', minutes: 15 },
  { feed: 'Electric', minutes: 60 },
  { feed: 'Gas', minutes: 60 },
] as const

interface Meter {
  readonly id: string
  readonly feed: 'Electric' | 'Gas'
  readonly minutes: number
  /** Quantities by start, epoch seconds. */
  readonly truth: Map<number, number>
}

interface Read {
  readonly id: string
  readonly day: string
  readonly start: number
  readonly seconds: number
  readonly quantity: number
  readonly seq: string
}

for (const stamp of someOf(['start', 'end'] as const, 1, seed)) {
  t.test(`reads end under their true length: ${stamp}, seed ${seed}`, async (t) => {
    const random = randomFrom(seed)
    const line = await createLineByHand(t, { usage: { stamp } })
    const { context, takeIn } = line
    const { store, profile } = context
    const zone = createZone(profile.timeZone)
    const { name, isSound } = createMeters(line)
    const meters = kinds.flatMap(({ feed, minutes }) =>
      Array.from({ length: 8 }, (_, at): Meter => {
        return { id: `${feed}${minutes}-${at}`, feed, minutes, truth: new Map() }
      }),
    )
    const pick = (count: number) => Math.floor(random() * count)
    const rowsOf = (meter: Meter, day: number, slots: readonly number[]) =>
      slots.map((slot) => {
        const quantity = 1 + pick(9)
        const at = zone.dayStart(`2024-06-0${day}`) + slot * meter.minutes * 60
        meter.truth.set(at, quantity)
        const minutes = (slot + (stamp === 'end' ? 1 : 0)) * meter.minutes
        const [on, time] = minutes === 1_440 ? [day + 1, 0] : [day, minutes]
        return row(meter.id, on, time, quantity)
      })
    const slotsOf = ({ minutes }: Meter) => Array.from({ length: 1_440 / minutes }, (_, at) => at)
    const sparse = (meter: Meter) => {
      const first = pick(slotsOf(meter).length - 1)
      const more = random() < 0.4 ? [first + 1 + pick(slotsOf(meter).length - first - 1)] : []
      return rowsOf(meter, 1 + pick(lastDay), [first, ...more])
    }
    const full = (meter: Meter, day: number) => rowsOf(meter, day, slotsOf(meter))
    const reads = () =>
      store.rows<Read>({
        sql: sql`SELECT meter_id AS id, toString(local_day) AS day, toUnixTimestamp(starts_at) AS start,
            seconds, toUInt32(quantity) AS quantity, toString(published_seq) AS seq
          FROM usage ORDER BY id, start, seconds`,
      })
    const keyOf = ({ id, start, seconds }: Read) => `${id} ${start} ${seconds}`
    const copy = new Map<string, Read>()
    let pulled = 0
    const pull = async () => {
      const all = await reads()
      const changes = await store.rows<{ id: string; from: string; to: string; seq: string }>({
        sql: sql`SELECT meter_id AS id, toString(local_day) AS from, toString(last_local_day) AS to,
            toString(published_seq) AS seq
          FROM usage_change WHERE published_seq > ${pulled}`,
      })
      for (const { id, from, to } of changes) {
        const isOld = (one: Read) => one.id === id && one.day >= from && one.day <= to
        for (const [key, one] of copy) if (isOld(one)) copy.delete(key)
        for (const one of all) if (isOld(one)) copy.set(keyOf(one), one)
      }
      for (const one of all) if (Number(one.seq) > pulled) copy.set(keyOf(one), one)
      pulled = Math.max(pulled, ...[...all, ...changes].map(({ seq }) => Number(seq)))
      t.same([...copy.keys()].sort(), all.map(keyOf).sort(), 'who pulls has the same')
    }
    const rowsOfFile = (feed: string, isLast: boolean) =>
      meters
        .filter((meter) => meter.feed === feed)
        .flatMap((meter) => {
          if (isLast) return full(meter, lastDay)
          const rows = [
            random() < 0.8 ? sparse(meter) : [],
            random() < 0.2 ? full(meter, 1 + pick(lastDay)) : [],
          ]
          return rows.flat()
        })
    for (let round = 0; round <= rounds; round++) {
      const isLast = round === rounds
      for (const feed of new Set(kinds.map((one) => one.feed))) {
        const arrivals: number[] = []
        for (let file = 0; file < (isLast ? 1 : together); file++) {
          arrivals.push(await takeIn(name(feed), rowsOfFile(feed, isLast)))
        }
        if (random() < 0.5) arrivals.reverse()
        for (const arrival of arrivals) {
          await reconcile(context, arrival)
          await settle(context, arrival)
          const state = await context.ledger.state(arrival)
          t.match(state, { status: 'published', rows: { rejected: 0 } })
        }
      }
      await pull()
    }
    const expected = meters.flatMap(({ id, minutes, truth }) =>
      [...truth].map(([start, quantity]) => ({ id, start, seconds: minutes * 60, quantity })),
    )
    const order = (one: Omit<Read, 'day' | 'seq'>) => `${one.id} ${one.start}`
    t.same(
      (await reads()).map(({ id, start, seconds, quantity }) => ({ id, start, seconds, quantity })),
      expected.sort((one, other) => (order(one) < order(other) ? -1 : 1)),
    )
    await isSound(t)
  })
}

import t from 'tap'
import { createZone } from '../../../schemas/time/zone.js'
import { randomFrom, runs } from '../../rig/sample.js'
import { header, openStory } from '../../story/rig/stack.js'

const timeZone = 'America/Detroit'
const zone = createZone(timeZone)
const seed = Math.floor(Math.random() * 2 ** 31)
const metersOfKind = 25
const rounds = runs(2)

interface Read {
  readonly day: string
  /** Epoch seconds. */
  readonly start: number
  readonly end: number
}

interface Meter {
  readonly id: string
  readonly feed: 'Electric' | 'Gas'
  readonly other: number
  readonly reads: readonly Read[]
  /** Quantity by start. */
  readonly truth: Map<number, number>
}

const days = ['2025-03-08', '2025-03-09', '2025-03-10']
const kinds = [
  { feed: 'Electric', seconds: 900, other: 3_600 },
  { feed: 'Electric', seconds: 3_600, other: 900 },
  { feed: 'Gas', seconds: 3_600, other: 86_400 },
  { feed: 'Gas', seconds: 86_400, other: 3_600 },
] as const

for (const stamp of ['start', 'end'] as const) {
  t.test(
    `sums after corrections of any reads are the true ones: ${stamp}, seed ${seed}`,
    async (t) => {
      const random = randomFrom(seed)
      const story = await openStory(t, {
        profile: { usage: { stamp, rejectedShareMax: 1 } },
      })
      const meters = kinds.flatMap(({ feed, seconds, other }) =>
        Array.from({ length: metersOfKind }, (_, at): Meter => {
          const reads = days.flatMap((day) => readsOf(day, seconds))
          const truth = new Map(reads.map(({ start }) => [start, 1]))
          return { id: `${feed}${seconds}-${at}`, feed, other, reads, truth }
        }),
      )
      const rowOf = (meter: Meter, { start, end }: Read, quantity: number) => {
        const { year, month, day, hour, minute } = zone.toWall(stamp === 'start' ? start : end)
        const time = `${hour}:${String(minute).padStart(2, '0')}`
        return `A,S,${meter.id},${month}/${day}/${year} ${time},${quantity}`
      }
      const send = async (rows: ReadonlyMap<Meter, readonly string[]>, part: number) => {
        for (const feed of ['Electric', 'Gas'] as const) {
          const mine = [...rows].flatMap(([meter, one]) => (meter.feed === feed ? one : []))
          const text = `${[header, ...mine].join('\n')}\n`
          const receipt = await story.loadBytes(`DEMO_11032025_${feed}_${part}.csv`, text)
          t.equal(receipt.status, 'published')
        }
      }
      await send(
        new Map(meters.map((one) => [one, one.reads.map((read) => rowOf(one, read, 1))])),
        1,
      )
      for (let round = 2; round < 2 + rounds; round++) {
        const sent = new Map<Meter, readonly string[]>()
        for (const meter of meters) {
          const share = random() ** 3
          const picked = meter.reads.filter(() => random() < share)
          sent.set(
            meter,
            picked.map((read) => rowOf(meter, read, round)),
          )
          const spoilt = ambiguousDays(picked, meter.other)
          for (const { day, start } of picked) {
            if (!spoilt.has(day)) meter.truth.set(start, round)
          }
        }
        await send(sent, round)
        const stored = await story.reader.rows<{ id: string; sum: string; rows: string }>({
          sql: `SELECT meter_id AS id, toString(sum(quantity)) AS sum, count() AS rows FROM usage
          GROUP BY meter_id ORDER BY meter_id`,
        })
        const expected = meters.map(({ id, truth }) => ({
          id,
          sum: String([...truth.values()].reduce((sum, value) => sum + value, 0)),
          rows: String(truth.size),
        }))
        t.same(
          stored,
          expected.sort((a, b) => (a.id < b.id ? -1 : 1)),
          `round ${round}`,
        )
      }
    },
  )
}

function readsOf(day: string, seconds: number): readonly Read[] {
  const start = zone.dayStart(day)
  const length = zone.daySeconds(day)
  if (seconds === 86_400) return [{ day, start, end: start + length }]
  return Array.from({ length: length / seconds }, (_, at) => ({
    day,
    start: start + at * seconds,
    end: start + (at + 1) * seconds,
  }))
}

/** Days with three reads in succession that could be a series of another length; a day has 22 to 26 hours. */
function ambiguousDays(picked: readonly Read[], other: number): ReadonlySet<string> {
  const found = new Set<string>()
  const isOther = (gap: number) =>
    other === 86_400 ? gap >= 22 * 3_600 && gap <= 26 * 3_600 : gap === other
  picked.forEach((read, at) => {
    const [second, third] = [picked[at + 1], picked[at + 2]]
    if (second === undefined || third === undefined) return
    if (!isOther(second.start - read.start) || !isOther(third.start - second.start)) return
    for (const one of [read, second, third]) found.add(one.day)
  })
  return found
}

import t from 'tap'
import {
  createZone,
  fromWallSeconds,
  type Wall,
  wallSeconds,
} from '../../../../schemas/time/zone.js'
import { createDeliveries } from './deliveries.js'

const { store, deliver, contextOf } = await createDeliveries(t)

/** Clock changes that are not those of most zones: half an hour, to midnight and before midnight. */
const changes = [
  { timeZone: 'Australia/Lord_Howe', near: '2026-04-04T15:00Z', minutes: 15, span: 1_800 },
  { timeZone: 'Australia/Lord_Howe', near: '2026-04-04T15:00Z', minutes: 60, span: 1_800 },
  { timeZone: 'America/Havana', near: '2025-11-02T05:00Z', minutes: 15, span: 3_600 },
  { timeZone: 'America/Santiago', near: '2026-04-05T03:00Z', minutes: 60, span: 3_600 },
] as const

const spell = ({ month, day, year, hour, minute }: Wall) =>
  `${month}/${day}/${year} ${hour}:${String(minute).padStart(2, '0')}`

for (const { timeZone, near, minutes, span } of changes) {
  for (const stamp of ['start', 'end'] as const) {
    const title = `${timeZone}: a night of ${minutes} minutes, cut anywhere, ${stamp}`
    t.test(title, async (t) => {
      const zone = createZone(timeZone)
      const at = Date.parse(near) / 1_000
      t.equal(zone.changeWithin(at - 60, at + 60), at)
      t.equal(wallSeconds(zone.toWall(at - 1)) + 1 - wallSeconds(zone.toWall(at)), span)
      const seconds = minutes * 60
      const shift = stamp === 'end' ? seconds : 0
      const hours = span + 2 * 3_600
      const starts = Array.from(
        { length: (2 * hours) / seconds },
        (_, index) => at - hours + index * seconds,
      )
      const context = contextOf(timeZone, { stamp, intervals: { Electric: [900, 3_600] } })
      const cuts = [...starts.keys()].slice(2, -2)
      const meterOf = (cut: number) => `${timeZone}/${minutes}/${stamp}/${cut}`
      const rowsOf = (isIn: (index: number, cut: number) => boolean) =>
        cuts.flatMap((cut) =>
          starts.flatMap((start, index) =>
            isIn(index, cut)
              ? [`A,S,${meterOf(cut)},${spell(zone.toWall(start + shift))},${index + 1}`]
              : [],
          ),
        )
      const day = fromWallSeconds(wallSeconds(zone.toWall(at - hours)) - 86_400)
      await deliver(
        context,
        cuts.flatMap((cut) =>
          Array.from({ length: 5 }, (_, index) => {
            const wall = fromWallSeconds(wallSeconds(day) + index * seconds)
            return `A,S,${meterOf(cut)},${spell(wall)},1`
          }),
        ),
      )
      for (const rows of [
        rowsOf((index, cut) => index < cut),
        rowsOf((index, cut) => index >= cut),
      ]) {
        const state = await deliver(context, rows)
        t.match(state, { status: 'published', rows: { accepted: rows.length } })
        t.match(state.notes, { ambiguousHourRows: 0 })
      }
      const found = await store.rows<{ meter: string; reads: readonly [number, string][] }>({
        sql: `SELECT meter_id AS meter, arraySort(groupArray((toUnixTimestamp(starts_at), toString(quantity)))) AS reads
          FROM usage WHERE starts_at >= {from:UInt32} AND meter_id LIKE {like:String} GROUP BY meter_id`,
        parameters: { from: at - hours, like: `${timeZone}/${minutes}/${stamp}/%` },
      })
      t.equal(found.length, cuts.length)
      const truth = starts.map((start, index) => [start, String(index + 1)])
      for (const { meter, reads } of found) t.same(reads, truth, meter)
    })
  }
}

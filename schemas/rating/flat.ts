import { toSeasons } from '../lint/seasons.js'
import { cutDays } from './cut-days.js'
import { type Component, energyLine, type RateInterval, type RateKind } from './kind.js'
import type { RateRow } from './rate-book.js'

/** One price for all usage of a day. */
export const flat: RateKind = { feed: 'RateFlat', compile }

function compile(rows: readonly RateRow[], interval: RateInterval): Component {
  const { seasons, segmentOf } = cutDays(toSeasons(rows, interval), interval)
  return {
    name: rows[0]?.row['Component'] ?? '',
    segmentOf,
    lines: seasons.flatMap(({ rows: [row], from, to }, at) => {
      const own = { name: 'Flat', tier: 0, from, to, through: [at + 1], before: [] }
      return row === undefined ? [] : [energyLine(row, interval, own)]
    }),
  }
}

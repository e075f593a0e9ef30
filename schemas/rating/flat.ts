import { toSeasons } from '../lint/seasons.js'
import { microsOf } from './amount.js'
import { cutDays } from './cut-days.js'
import type { Component, EnergyLine, RateInterval, RateKind } from './kind.js'
import type { RateRow } from './rate-book.js'

/** One price for all usage of a day. */
export const flat: RateKind = { feed: 'RateFlat', compile }

function compile(rows: readonly RateRow[], interval: RateInterval): Component {
  const { seasons, segmentOf } = cutDays(toSeasons(rows, interval), interval)
  return {
    name: rows[0]?.row['Component'] ?? '',
    segmentOf,
    lines: seasons.flatMap(({ rows: [row], from, to }, at): readonly EnergyLine[] => {
      if (row === undefined) return []
      return [
        {
          component: row.row['Component'] ?? '',
          name: 'Flat',
          kind: 'Energy',
          taxable: interval.isTaxed(row.row['Component'] ?? ''),
          tier: 0,
          price: microsOf(row.row['Amount']),
          fileId: row.fileId,
          from,
          to,
          through: [at + 1],
          before: [],
        },
      ]
    }),
  }
}

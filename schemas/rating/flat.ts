import { toSeasons } from '../lint/seasons.js'
import { microsOf } from './amount.js'
import type { Component, EnergyLine, RateKind, Stretch } from './kind.js'
import type { RateRow } from './rate-book.js'
import { cutDays } from './stretches.js'

/** One price for all usage of a day. */
export const flat: RateKind = { feed: 'RateFlat', compile }

function compile(rows: readonly RateRow[], stretch: Stretch): Component {
  const { seasons, segmentOf } = cutDays(toSeasons(rows, stretch), stretch)
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
          taxable: stretch.isTaxed(row.row['Component'] ?? ''),
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

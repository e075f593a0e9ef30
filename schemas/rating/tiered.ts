import { toSeasons } from '../lint/seasons.js'
import { divideRounded, microsOf } from './amount.js'
import { type CutDays, cutDays } from './cut-days.js'
import { type Component, energyLine, type RateInterval, type RateKind } from './kind.js'
import type { RateRow } from './rate-book.js'

/**
 * Tiers that usage fills in the order of time. A limit is the sum over the days of that day's factor;
 * a limit for the period counts for its share of the bill's days. What a change of price falls between
 * is split by what had been used until then.
 */
export const tiered: RateKind = { feed: 'RateTiers', compile }

function compile(rows: readonly RateRow[], interval: RateInterval): Component {
  const cut = cutDays(toSeasons(rows, interval), interval)
  const limits = limitsOf(cut, interval)
  return {
    name: rows[0]?.row['Component'] ?? '',
    segmentOf: cut.segmentOf,
    lines: cut.seasons.flatMap(({ rows, from, to }, at) => {
      const before = Array.from({ length: at }, (_, earlier) => earlier + 1)
      return inOrder(rows).map((row, index) => {
        const upper = limits[index]
        return energyLine(row, interval, {
          name: `Tier ${row.row['Tier']}`,
          tier: index + 1,
          from,
          to,
          through: [...before, at + 1],
          before,
          lower: index === 0 ? 0n : (limits[index - 1] ?? 0n),
          ...(index < rows.length - 1 && upper !== undefined && { upper }),
        })
      })
    }),
  }
}

function inOrder(rows: readonly RateRow[]): readonly RateRow[] {
  return [...rows].sort((a, b) => Number(a.row['Tier']) - Number(b.row['Tier']))
}

const million = 1_000_000n

/**
 * The upper limit of each tier but the last over all days of the interval, millionths of a unit. Days
 * that have fewer tiers count for the others with their last limit, and no limit is below the one
 * before: whatever changes in between, each unit is in one tier.
 */
function limitsOf({ seasons }: CutDays, interval: RateInterval): readonly bigint[] {
  const most = Math.max(0, ...seasons.map(({ rows }) => rows.length - 1))
  const limits: bigint[] = []
  for (let tier = 0; tier < most; tier++) {
    const [limit, before] = [limitOf(seasons, tier, interval), limits.at(-1) ?? 0n]
    limits.push(limit > before ? limit : before)
  }
  return limits
}

function limitOf(seasons: CutDays['seasons'], tier: number, interval: RateInterval): bigint {
  const { tierLimitRounding, moreTierDays, periodDays } = interval
  let forPeriod = 0n
  let limit = 0n
  for (const [at, { rows, from, to }] of seasons.entries()) {
    const limited = inOrder(rows).slice(0, -1)
    const row = limited[Math.min(tier, limited.length - 1)]?.row
    const days = to - from + 1
    if (row?.['PeriodLimit'] != null) {
      forPeriod += microsOf(row['PeriodLimit']) * BigInt(days)
      continue
    }
    const more = at === seasons.length - 1 ? moreTierDays : 0
    limit += microsOf(row?.['DailyProrateFactor']) * BigInt(days + more)
  }
  limit += divideRounded(forPeriod, BigInt(periodDays))
  return tierLimitRounding === 'unit' ? divideRounded(limit, million) * million : limit
}

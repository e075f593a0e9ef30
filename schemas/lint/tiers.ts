import { type Finding, groupRows, type Linted, type PlacedRow } from './finding.js'
import { type Season, spellSeason, toSeasons } from './seasons.js'

/** Judges tiered rows (decision 28): each tier but the last has a limit, above that of the one before. */
export function lintTiers(rows: readonly PlacedRow[]): Linted {
  const errors = new Map<string, Finding>()
  const warnings = new Set<string>()
  for (const rate of groupRows(rows, 'RateCode', 'Component')) {
    const name = `${rate[0]?.row['RateCode']} ${rate[0]?.row['Component']}`
    for (const season of toSeasons(rate)) {
      if (season.rows.length === 0) {
        warnings.add(`no tier of ${name} covers ${spellSeason(season)}`)
        continue
      }
      for (const finding of judgeTiers(season, name)) {
        errors.set(`${finding.at.line} ${finding.code}`, finding)
      }
      const last = inOrder(season.rows).at(-1)
      if (last !== undefined && limitOf(last) !== undefined) {
        warnings.add(`the last tier of ${name} has a limit; usage above it has no price`)
      }
    }
  }
  return { errors: [...errors.values()], warnings: [...warnings] }
}

const tierOf = ({ row }: PlacedRow) => Number(row['Tier'])
const inOrder = (rows: readonly PlacedRow[]) => [...rows].sort((a, b) => tierOf(a) - tierOf(b))

interface Limit {
  readonly column: 'DailyProrateFactor' | 'PeriodLimit'
  readonly value: number
}

function limitOf({ row }: PlacedRow): Limit | undefined {
  for (const column of ['DailyProrateFactor', 'PeriodLimit'] as const) {
    const text = row[column]
    if (text != null) return { column, value: Number(text) }
  }
  return undefined
}

function judgeTiers({ rows, from, to }: Season, name: string): readonly Finding[] {
  const tiers = inOrder(rows)
  return tiers.flatMap((tier, at): readonly Finding[] => {
    const [before, limit] = [tiers[at - 1], limitOf(tier)]
    const say = (code: Finding['code'], detail: string) => [
      {
        at: tier,
        column: limit?.column ?? 'DailyProrateFactor',
        code,
        detail: `${detail}, ${spellSeason({ from, to })}`,
      },
    ]
    if (before !== undefined && tierOf(before) === tierOf(tier)) {
      return say(
        'DATES_TWICE',
        `tier ${tierOf(tier)} of ${name} is in line ${before.line} and line ${tier.line}`,
      )
    }
    const { DailyProrateFactor, PeriodLimit } = tier.row
    if (DailyProrateFactor != null && PeriodLimit != null) {
      return say(
        'TIER_LIMITS',
        `tier ${tierOf(tier)} of ${name} has both a daily limit and a limit for the period`,
      )
    }
    if (limit === undefined) {
      if (at === tiers.length - 1) return []
      return say(
        'TIER_UNLIMITED',
        `tier ${tierOf(tier)} of ${name} has no limit and is not the last`,
      )
    }
    const below = before && limitOf(before)
    if (below?.column !== limit.column || below.value < limit.value) return []
    return say(
      'TIER_LIMITS',
      `the limit of tier ${tierOf(tier)} of ${name} is not above the limit of the tier before`,
    )
  })
}

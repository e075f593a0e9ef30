import {
  type Finding,
  findAlike,
  groupRows,
  type Linted,
  type LintInput,
  type PlacedRow,
  toDays,
} from './finding.js'

/**
 * Judges a schedule of billing cycles (decision 25): the periods of a cycle follow each other, their
 * end dates all inclusive or all exclusive.
 */
export function lintCycles({ rows, registered }: LintInput): Linted {
  const periods = rows['BillingCycles'] ?? []
  const cycles = groupRows(periods, 'BillingCycleID').map((cycle) =>
    [...cycle].sort((a, b) => (start(a) < start(b) ? -1 : 1)),
  )
  const known = new Set(cycles.map((cycle) => cycle[0]?.row['BillingCycleID'] ?? ''))
  const unknown = registered.cycles.filter(({ cycleId }) => cycleId !== '' && !known.has(cycleId))
  const codes = [...known, ...unknown.map(({ cycleId }) => cycleId)]
  return {
    errors: cycles.flatMap(findBreaks),
    warnings: [
      ...cycles.flatMap(findLengths),
      ...findAlike(codes, 'the cycles'),
      ...unknown.map(
        ({ cycleId, meters }) =>
          `${meters} registered meters are in cycle ${cycleId}, which has no period`,
      ),
    ],
  }
}

const start = ({ row }: PlacedRow) => row['StartDate'] ?? ''
const end = ({ row }: PlacedRow) => row['EndDate'] ?? ''

function findBreaks(cycle: readonly PlacedRow[]): readonly Finding[] {
  const found: Finding[] = []
  let kind: { readonly gap: number; readonly between: string } | undefined
  for (const [at, period] of cycle.slice(1).entries()) {
    const before = cycle[at] as PlacedRow
    const between = `the period that ends ${end(before)} and the one that starts ${start(period)}`
    const gap = toDays(start(period)) - toDays(end(before))
    const finding = (code: Finding['code'], detail: string) =>
      found.push({ at: period, column: 'StartDate', code, detail })
    if (gap > 1) finding('PERIOD_GAP', `there is a gap between ${between}`)
    else if (gap < 0) finding('PERIOD_OVERLAP', `${between} overlap`)
    else if (kind !== undefined && kind.gap !== gap) {
      const words = gap === 1 ? 'inclusive' : 'exclusive'
      finding('PERIOD_KINDS', `${between} make end dates ${words}, but not ${kind.between}`)
    } else kind ??= { gap, between }
  }
  return found
}

const monthDays = { from: 25, to: 35 }
const twoMonthsDays = { from: 50, to: 70 }

function findLengths(cycle: readonly PlacedRow[]): readonly string[] {
  const isExclusive = cycle
    .slice(1)
    .some((period, at) => start(period) === end(cycle[at] as PlacedRow))
  const length = (period: PlacedRow) =>
    toDays(end(period)) - toDays(start(period)) + (isExclusive ? 0 : 1)
  const lengths = cycle.map(length).sort((a, b) => a - b)
  const median = lengths[lengths.length >> 1] ?? 0
  const usual = median > (monthDays.to + twoMonthsDays.from) / 2 ? twoMonthsDays : monthDays
  return cycle.flatMap((period) => {
    const days = length(period)
    if (days >= usual.from && days <= usual.to) return []
    const cycleId = period.row['BillingCycleID']
    return [
      `line ${period.line}: the period of cycle ${cycleId} from ${start(period)} to ${end(period)} has ${days} days`,
    ]
  })
}

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
  const kinds = new Set(cycles.flatMap(gapsOf))
  return {
    errors: cycles.flatMap(findBreaks),
    warnings: [
      ...cycles.flatMap((cycle) => findLengths(cycle, kinds)),
      ...findUnclear(cycles, kinds),
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

/** The days from the end of each period of a cycle to the start of the next. */
function gapsOf(cycle: readonly PlacedRow[]): readonly number[] {
  return cycle
    .slice(1)
    .map((period, at) => toDays(start(period)) - toDays(end(cycle[at] as PlacedRow)))
}

/** Warns of cycles with one period where no other cycle shows whether its end date is part of it. */
function findUnclear(
  cycles: readonly (readonly PlacedRow[])[],
  kinds: ReadonlySet<number>,
): readonly string[] {
  const [first, ...others] = cycles.filter(({ length }) => length === 1)
  if (first === undefined || kinds.size === 1) return []
  const cycleId = first[0]?.row['BillingCycleID']
  const named =
    others.length === 0 ? `cycle ${cycleId}` : `cycle ${cycleId} and ${others.length} more`
  const doubt = kinds.size === 0 ? 'no cycle shows' : 'the other cycles do not agree'
  return [
    `of ${named} the file has one period, and ${doubt} whether an end date is the last day; it is taken to be: send two periods of each cycle`,
  ]
}

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

function findLengths(cycle: readonly PlacedRow[], kinds: ReadonlySet<number>): readonly string[] {
  const own = gapsOf(cycle)
  const isExclusive = own.includes(0) || (own.length === 0 && kinds.has(0) && kinds.size === 1)
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

import {
  type Finding,
  findAlike,
  groupRows,
  type Linted,
  type LintInput,
  type PlacedRow,
} from './finding.js'
import { energyComponent, isRenamed, spellSeason, toComponents, toSeasons } from './seasons.js'
import { lintTiers } from './tiers.js'
import { lintTou } from './tou.js'

/** Judges the rate files of one company and day together (decisions 27 and 28). */
export function lintRates(input: LintInput): Linted {
  const rows = (feed: string) => input.rows[feed] ?? []
  const tou = lintTou(rows('RateTou'))
  const tiers = lintTiers(rows('RateTiers'))
  const flat = lintDates(rows('RateFlat'), ['RateCode', 'Component'])
  const fixed = lintDates(rows('RateFixed'), ['RateCode', 'Name'])
  return {
    errors: [
      ...findNameless(input),
      ...findUnits(input),
      ...[tou, tiers, flat, fixed].flatMap(({ errors }) => errors),
    ],
    warnings: [
      ...[tou, tiers, flat].flatMap(({ warnings }) => warnings),
      ...findUnpriced(input),
      ...findEnded(input),
      ...findHolidayless(input),
      ...findUnknown(input),
      ...findAlike(
        [
          ...rows('RateCodes').map(({ row }) => row['RateCode'] ?? ''),
          ...input.registered.rates.map(({ rateCode }) => rateCode),
        ],
        'the rate codes',
      ),
    ],
  }
}

const pricing = { TOU: 'RateTou', Tiered: 'RateTiers', Flat: 'RateFlat' } as const
const coded = ['RateTou', 'RateTiers', 'RateFlat', 'RateFixed', 'Holidays'] as const

function codesOf({ rows }: LintInput): ReadonlyMap<string, PlacedRow> {
  return new Map((rows['RateCodes'] ?? []).map((one) => [one.row['RateCode'] ?? '', one]))
}

/** Rate rows whose rate code is unknown. Rows in force that have ended need no rate code. */
function findNameless(input: LintInput): readonly Finding[] {
  if (input.unknown.includes('RateCodes')) return []
  const codes = codesOf(input)
  const from = [...codes.values()][0]?.fileName ?? 'the schedule in force (no rate codes yet)'
  return coded.flatMap((feed) =>
    (input.rows[feed] ?? []).flatMap((at) => {
      const code = at.row['RateCode'] ?? ''
      if (code === '' || codes.has(code)) return []
      const detail = `${at.fileName} has rate code ${code}, which ${from} does not have`
      return [{ at, column: 'RateCode', code: 'NO_RATE_CODE' as const, detail }]
    }),
  )
}

function findUnits(input: LintInput): readonly Finding[] {
  const codes = codesOf(input)
  return input.registered.rates.flatMap(({ rateCode, unit, meters }) => {
    const at = codes.get(rateCode)
    const own = at?.row['UnitOfMeasure'] ?? ''
    if (at === undefined || unit === '' || unit === own) return []
    if (own === 'kWh' && unit === 'Wh') return []
    const detail = `${rateCode} is priced in ${own}, but ${meters} registered meters with it are read in ${unit}`
    return [{ at, column: 'UnitOfMeasure', code: 'UNIT' as const, detail }]
  })
}

/** Rows of one kind whose dates overlap, and the days between them that none covers. */
function lintDates(rows: readonly PlacedRow[], by: readonly string[]) {
  const errors = new Map<PlacedRow, Finding>()
  const warnings: string[] = []
  for (const group of groupRows(rows, ...by)) {
    const name = by.map((column) => group[0]?.row[column]).join(' ')
    for (const season of toSeasons(group)) {
      const [first, second] = season.rows
      if (first === undefined) warnings.push(`no row of ${name} covers ${spellSeason(season)}`)
      if (first === undefined || second === undefined) continue
      const detail = `${name} is in line ${first.line} and line ${second.line}, ${spellSeason(season)}`
      errors.set(second, { at: second, column: 'RateStartDate', code: 'DATES_TWICE', detail })
    }
  }
  return { errors: [...errors.values()], warnings }
}

function findUnpriced(input: LintInput): readonly string[] {
  return [...codesOf(input).values()].flatMap(({ row }) => {
    const feed = pricing[row['RateType'] as keyof typeof pricing]
    if (input.unknown.includes(feed)) return []
    const isPriced = (input.rows[feed] ?? []).some((one) => one.row['RateCode'] === row['RateCode'])
    return isPriced ? [] : [`${row['RateCode']} is ${row['RateType']} and has no row of ${feed}`]
  })
}

/** Components that end before others of their rate: bills lack them from then on, or have no price. */
function findEnded({ rows }: LintInput): readonly string[] {
  const all = Object.values(pricing).flatMap((feed) => rows[feed] ?? [])
  return groupRows(all, 'RateCode').flatMap((own) => {
    const components = toComponents(own)
    const last = Math.max(...components.map(({ to }) => to))
    return components
      .filter((one) => one.to < last && !isRenamed(one, components))
      .map(({ name, to }) => {
        const days = spellSeason({ from: to + 1, to: last })
        const what = name === energyComponent ? 'bills then have no price' : 'bills then lack it'
        return `no row of ${own[0]?.row['RateCode']} ${name} covers ${days}: ${what}`
      })
  })
}

/** Years in which time-of-use rates hold, from that of the files on, without any holiday. */
function findHolidayless({ rows, unknown, fileDate }: LintInput): readonly string[] {
  if (unknown.includes('Holidays')) return []
  const year = Number(fileDate.slice(0, 4))
  const years = (rows['RateTou'] ?? []).map(({ row }) => {
    const [from = '', to = ''] = [row['RateStartDate'] ?? '', row['RateEndDate'] ?? '']
    const open = from.startsWith('--') || to === ''
    return {
      from: from.startsWith('--') ? year : Number(from.slice(0, 4)),
      to: open ? year : Number(to.slice(0, 4)),
    }
  })
  const last = Math.max(...years.map(({ to }) => to))
  const listed = new Set((rows['Holidays'] ?? []).map(({ row }) => row['Date']?.slice(0, 4)))
  return Array.from({ length: Math.max(0, last - year + 1) }, (_, at) => year + at)
    .filter((one) => years.some(({ from, to }) => from <= one && one <= to))
    .filter((one) => !listed.has(String(one)))
    .map((one) => `${one} has time-of-use rates and no holidays`)
}

function findUnknown(input: LintInput): readonly string[] {
  if (input.unknown.includes('RateCodes')) return []
  const codes = codesOf(input)
  const meters = new Map<string, number>()
  for (const one of input.registered.rates) {
    if (one.rateCode === '' || codes.has(one.rateCode)) continue
    meters.set(one.rateCode, (meters.get(one.rateCode) ?? 0) + one.meters)
  }
  return [...meters].map(
    ([code, count]) => `${count} registered meters have the unknown rate code ${code}`,
  )
}

import { toDay } from '../../../schemas/time/zone.js'
import type { Store } from '../../store/clickhouse.js'
import { derivedOf } from '../../store/staging.js'
import type { Grid } from '../irregular-meters.js'
import { judgeMeter, type MeterDay } from '../lengths/judge.js'
import { findSuspects, storedLengths } from '../lengths/suspects.js'
import type { MeterNight, StagedHour } from './nights.js'
import type { AutumnChange } from './rule.js'

/** What the interval lengths of meters at a clock change are found by. */
export interface LengthSearch {
  readonly staged: StagedHour
  readonly grid: Grid
  /** The lengths of the profile. */
  readonly allowed: readonly number[]
  readonly change: AutumnChange
  readonly named: string
}

/**
 * The interval lengths of meters that `withNamed` wrote down, as decision 16 finds them, before it is
 * known which hour their rows are of. Of the lengths that the two hours would give the longest holds:
 * a row in the wrong hour can only make the gaps smaller than they are.
 */
export async function lengthsOfNights(
  store: Store,
  { staged, grid, allowed, change, named }: LengthSearch,
  nights: readonly MeterNight[],
): Promise<ReadonlyMap<string, number>> {
  const { zone, stamp, seconds } = staged
  const { whole: table } = derivedOf(staged)
  const search = { table, grid, allowed, of: { named }, batch: 0, batches: 1 }
  const suspects = await findSuspects(store, staged, search)
  const known = new Map(suspects.map(({ meterId, days }) => [meterId, days]))
  const night = toDay(zone.toWall(change.at - 1))
  const toStart = stamp === 'end' ? seconds : 0
  const variants = nights.map(({ meterId, rows }) => {
    const repeated = rows.filter(({ kind }) => kind !== 'outside').map(({ at }) => at - toStart)
    const days = [0, change.span].map((shift) =>
      withStarts(known.get(meterId) ?? [], night, bothHours(repeated, change, shift)),
    )
    return { meterId, days: days as [readonly MeterDay[], readonly MeterDay[]] }
  })
  const stored = await storedLengths(
    store,
    staged,
    variants.map(({ meterId, days: [days] }) => ({ meterId, days })),
  )
  const rules = { allowed, zone, seconds, atEnd: stamp === 'end', isDay: () => true }
  return new Map(
    variants.map(({ meterId, days }) => {
      const found = days.map((one) =>
        judgeMeter(one, stored.get(meterId) ?? [], rules).find(({ day }) => day === night),
      )
      const longest = Math.max(...found.map((one) => one?.seconds ?? 0))
      return [meterId, longest || found[0]?.stored || (allowed[0] as number)]
    }),
  )
}

/** Starts in daylight time; those that are there twice in both hours, the others moved by `shift`. */
function bothHours(
  starts: readonly number[],
  { span }: AutumnChange,
  shift: number,
): readonly number[] {
  const seen = new Set<number>()
  const twice = new Set(starts.filter((start) => seen.has(start) || !seen.add(start)))
  return starts.flatMap((start) => (twice.has(start) ? [start, start + span] : [start + shift]))
}

/** The days of a meter with more starts on one of them, unless its rows fill it anyway. */
function withStarts(
  days: readonly MeterDay[],
  day: string,
  more: readonly number[],
): readonly MeterDay[] {
  const one = days.find((found) => found.day === day) ?? { day, full: 0, starts: [] }
  const starts = [...new Set([...one.starts, ...more])].sort((a, b) => a - b)
  const filled = one.full === 0 ? { ...one, starts } : one
  return [...days.filter((found) => found.day !== day), filled].sort((a, b) =>
    a.day < b.day ? -1 : 1,
  )
}

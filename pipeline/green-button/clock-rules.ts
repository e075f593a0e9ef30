import { fromWallSeconds, type Wall, wallSeconds, type Zone } from '../../schemas/time/zone.js'

/** The clock of a zone as ESPI's `LocalTimeParameters` has it. Offsets are seconds east of Greenwich. */
export interface ClockRules {
  readonly dstStartRule: string
  readonly dstEndRule: string
  readonly dstOffset: number
  readonly tzOffset: number
}

/** A change of the clock: the reading before it, and by how many seconds it advances. */
interface ClockChange {
  readonly wall: Wall
  readonly advance: number
}

/** ESPI's code for a clock without daylight time. */
const noRule = 'FFFFFFFF'
/** Operators: a weekday on or after a day of the month, the first to the fourth of a month, the last. */
const onOrAfter = 1
const firstOfMonth = 2
const lastOfMonth = 7
/** In so many years each date falls on each weekday. */
const yearsCompared = 28

/**
 * The rules of a year. A clock that does not change twice in it has none: only its offset is valid. Which
 * rule a change follows is seen in the years after it, as long as it is in the same month at the same time.
 */
export function readClockRules(zone: Zone, year: number): ClockRules {
  const changes = changesIn(zone, year)
  const start = changes.findIndex(({ advance }) => advance > 0)
  const tzOffset = zone.standardOffsetSeconds(year)
  if (changes.length !== 2 || start === -1 || changes[1 - start]?.advance !== -advanceOf(changes)) {
    return { dstStartRule: noRule, dstEndRule: noRule, dstOffset: 0, tzOffset }
  }
  const years = Array.from({ length: yearsCompared }, (_, at) => changesIn(zone, year + at))
  const ruleOf = (index: number) => toRule(years.map((found) => found[index]?.wall))
  return {
    dstStartRule: ruleOf(start),
    dstEndRule: ruleOf(1 - start),
    dstOffset: advanceOf(changes),
    tzOffset,
  }
}

const advanceOf = (changes: readonly ClockChange[]) =>
  Math.max(...changes.map(({ advance }) => advance))

function changesIn(zone: Zone, year: number): readonly ClockChange[] {
  const offsetAt = (at: number) => wallSeconds(zone.toWall(at)) - at
  const end = Date.UTC(year + 1, 0) / 1_000
  const found: ClockChange[] = []
  let from = Date.UTC(year, 0) / 1_000
  while (from < end) {
    // A span of 32 days has one change at most, which a search by halves finds.
    const to = Math.min(from + 32 * 86_400, end)
    const at = zone.changeWithin(from, to)
    const advance = offsetAt(at) - offsetAt(from)
    if (advance !== 0) {
      found.push({ wall: fromWallSeconds(wallSeconds(zone.toWall(at - 1)) + 1), advance })
    }
    from = at
  }
  return found
}

/** Seconds in bits 0 to 11, then hour, weekday (Monday is 1), day, operator and month. */
function toRule(years: readonly (Wall | undefined)[]): string {
  const first = years[0] as Wall
  const { month, hour, minute, second } = first
  const end = years.findIndex((wall) => wall?.month !== month || wall.hour !== hour)
  const alike = (end === -1 ? years : years.slice(0, end)) as readonly Wall[]
  const { operator, day } = placeOf(alike)
  const weekday = new Date(Date.UTC(first.year, month - 1, first.day)).getUTCDay() || 7
  const fields = [
    [minute * 60 + second, 0],
    [hour, 12],
    [weekday, 17],
    [day, 20],
    [operator, 25],
    [month, 28],
  ] as const
  const code = fields.reduce((sum, [value, shift]) => sum + value * 2 ** shift, 0)
  return code.toString(16).toUpperCase().padStart(8, '0')
}

function placeOf(walls: readonly Wall[]): { readonly operator: number; readonly day: number } {
  const weeks = new Set(walls.map(({ day }) => Math.ceil(day / 7)))
  const [week = 0] = weeks
  if (weeks.size === 1 && week < 5) return { operator: firstOfMonth + week - 1, day: 0 }
  const isLast = walls.every(({ year, month, day }) => day + 7 > daysOf(year, month))
  if (isLast) return { operator: lastOfMonth, day: 0 }
  return { operator: onOrAfter, day: Math.min(...walls.map(({ day }) => day)) }
}

const daysOf = (year: number, month: number) => new Date(Date.UTC(year, month, 0)).getUTCDate()

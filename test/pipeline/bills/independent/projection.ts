import type { Use } from './energy.js'
import { type Fraction, isAbove, over, plus, times, whole, zero } from './fraction.js'
import type { WallCalendar } from './wall-calendar.js'

export interface Projected {
  readonly method: 'recent' | 'lastYear' | 'none'
  readonly uses: readonly Use[]
}

export interface ProjectionQuestion {
  readonly calendar: WallCalendar
  readonly seconds: number
  /** All reads of the customer at the meter, also those before the bill. */
  readonly uses: readonly Use[]
  /** Days without reads up to the end of the bill. */
  readonly days: readonly number[]
  readonly kindOf: (day: number) => string
}

const weeksOfLastYear = 52

/** By their first minutes. */
type Hours = ReadonlyMap<number, { readonly quantity: Fraction; readonly seconds: number }>

/** What was used in the local hours, or parts of them, of each day with reads, and the seconds read. */
function hoursByDay(
  { uses, calendar, seconds }: ProjectionQuestion,
  minutes: number,
): ReadonlyMap<number, Hours> {
  const days = new Map<number, Map<number, { quantity: Fraction; seconds: number }>>()
  for (const { instant, quantity } of uses) {
    const { day, minute } = calendar.toWall(instant)
    const hours = days.get(day) ?? new Map()
    const hour = Math.floor(minute / minutes) * minutes
    const before = hours.get(hour) ?? { quantity: zero, seconds: 0 }
    hours.set(hour, {
      quantity: plus(before.quantity, quantity),
      seconds: before.seconds + seconds,
    })
    days.set(day, hours)
  }
  return days
}

/** The usage of days to come: as on days of the same kind in the last 28, else as 52 weeks ago. */
export function project(question: ProjectionQuestion): Projected {
  const { calendar, days, kindOf, seconds } = question
  const known = hoursByDay(question, 60)
  const first = days[0] ?? 0
  const recent = [...known].filter(([day]) => day < first && day >= first - 28)
  const ofKind = (kind: string) => recent.filter(([day]) => kindOf(day) === kind)
  const isKnown = recent.length >= 7 && days.every((day) => ofKind(kindOf(day)).length >= 2)
  if (isKnown) {
    const means = new Map<string, ReadonlyMap<number, Fraction>>()
    for (const kind of new Set(days.map(kindOf))) means.set(kind, meansOf(ofKind(kind)))
    const uses = days.flatMap((day) =>
      spread(question, day, { means: means.get(kindOf(day)) ?? new Map(), minutes: 60 }),
    )
    return { method: 'recent', uses }
  }
  const minutes = seconds === 86_400 ? 1_440 : seconds / 60
  const quarters = hoursByDay(question, minutes)
  const past = days.map((day) => ({ day, hours: quarters.get(day - weeksOfLastYear * 7) }))
  const present = plus(
    ...past.flatMap(({ hours }) => [...(hours?.values() ?? [])].map((one) => whole(one.seconds))),
  )
  const wanted = days.reduce(
    (sum, day) => sum + calendar.startOf(day + 1) - calendar.startOf(day),
    0,
  )
  const isYearKnown = isAbove(times(present, whole(100)), whole(wanted * 98 - 1))
  if (seconds === 0 || !isYearKnown) return { method: 'none', uses: [] }
  const uses = past.flatMap(({ day, hours }) =>
    spread(question, day, { means: meansOf([[day, hours ?? new Map()]]), minutes }),
  )
  return { method: 'lastYear', uses }
}

/** For each of them, by its first minute, what one second of it used. */
function meansOf(days: readonly (readonly [number, Hours])[]): ReadonlyMap<number, Fraction> {
  const hours = new Set(days.flatMap(([, own]) => [...own.keys()]))
  return new Map(
    [...hours].flatMap((hour): readonly [number, Fraction][] => {
      const found = days.flatMap(([, own]) => own.get(hour) ?? [])
      const seconds = found.reduce((sum, one) => sum + one.seconds, 0)
      if (seconds === 0) return []
      return [[hour, over(plus(...found.map(({ quantity }) => quantity)), whole(seconds))]]
    }),
  )
}

/** The quarter hours of a day ahead, each with its share of its hour; a daily read at its start. */
function spread(
  { calendar, seconds }: ProjectionQuestion,
  day: number,
  { means, minutes }: { readonly means: ReadonlyMap<number, Fraction>; readonly minutes: number },
): readonly Use[] {
  const start = calendar.startOf(day)
  if (seconds === 86_400) {
    return [{ instant: start, quantity: times(means.get(0) ?? zero, whole(86_400)) }]
  }
  const quarters = (calendar.startOf(day + 1) - start) / 900
  return Array.from({ length: quarters }, (_, at) => {
    const instant = start + at * 900
    const { minute } = calendar.toWall(instant)
    const mean = means.get(Math.floor(minute / minutes) * minutes) ?? zero
    return { instant, quantity: times(mean, whole(900)) }
  })
}

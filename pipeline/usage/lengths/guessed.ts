import { intervalEnd, intervalStart } from '../../../schemas/time/read-timestamp.js'
import { daySeconds, toDay, type Zone } from '../../../schemas/time/zone.js'

/**
 * Where an interval starts of which the timestamp says the end and nothing proves the length, epoch seconds. A
 * guessed day keeps the time of its timestamp, as it does where timestamps are at the start: it may turn out to
 * be an hour. Only at midnight, where the day is over, it starts with its day.
 */
export function guessedStart(end: number, seconds: number, zone: Zone): number {
  const isMidnight = zone.dayStart(toDay(zone.toWall(end))) === end
  return seconds !== daySeconds || isMidnight ? intervalStart(end, seconds, zone) : end
}

/** The timestamp of an interval that `guessedStart` has placed. */
export function guessedEnd(start: number, seconds: number, zone: Zone): number {
  const isWhole = zone.dayStart(toDay(zone.toWall(start))) === start
  return seconds !== daySeconds || isWhole ? intervalEnd(start, seconds, zone) : start
}

/** The timestamps of provisional reads of a length, or of rows that were placed by one. */
export function timestampsOf(
  { starts, seconds }: { readonly starts: readonly number[]; readonly seconds: number },
  atEnd: boolean,
  zone: Zone,
): readonly number[] {
  return atEnd ? starts.map((start) => guessedEnd(start, seconds, zone)) : starts
}

import { daySeconds } from './zone.js'

/** Seconds by which a clock may change. */
const clockChangeMax = 7_200

/** Whether a read of a day lasts until another start, epoch seconds: a day later, but for a change of the clock. */
export function lastsUntil(start: number, following: number): boolean {
  return Math.abs(following - start - daySeconds) <= clockChangeMax
}

import { Fault } from '../../schemas/fault.js'
import { isDay } from '../../schemas/record-value.js'

/** Throws `CONFIG` where what a person gave as the first day of a period is no day. */
export function expectPeriod(text: string): void {
  if (isDay(text)) return
  throw new Fault('CONFIG', `--period ${text} is no day; write YYYY-MM-DD, its first day`)
}

import { Fault } from '../../schemas/fault.js'
import { isDay } from '../../schemas/record-value.js'

/** Throws `CONFIG` unless the text is a day. */
export function expectPeriod(text: string, option = '--period'): void {
  if (isDay(text)) return
  throw new Fault(
    'CONFIG',
    `${option} ${text} is not a day; write the first day of the period as YYYY-MM-DD`,
  )
}

import { addDays, toDay, type Zone } from '../../../schemas/time/zone.js'
import { type QualityLetter, qualityOf } from '../../../schemas/usage-row.js'
import type { RecordRefusal, SentRecord } from '../format.js'
import type { SentLine } from '../lines.js'

/** What a billed period has beside the identifiers of its meter. */
export interface BilledPeriod {
  /** First and last day, `YYYY-MM-DD`. */
  readonly first: string
  readonly last: string
  readonly quantity: string
  /** Dollars; empty where they are not known. */
  readonly cost?: string
  readonly quality?: QualityLetter
}

/** A row of the feed Billing; `identifiers` are those of a read, with a comma behind each. */
export function periodRow(
  identifiers: string,
  { first, last, quantity, cost = '', quality }: BilledPeriod,
): string {
  return `${identifiers}${first},${last},${quantity},,${cost},,,,${qualityOf(quality)}\n`
}

/**
 * The days of a period between two instants, epoch seconds. The day of its end belongs to the next period,
 * unless that is the first day: undefined, since no day would be left.
 */
export function daysBetween(
  zone: Zone,
  { start, end }: { readonly start: number; readonly end: number },
): Pick<BilledPeriod, 'first' | 'last'> | undefined {
  const [first, next] = [toDay(zone.toWall(start)), toDay(zone.toWall(end))]
  return first < next ? { first, last: addDays(next, -1) } : undefined
}

/** What is known of a period that is refused. */
interface RefusedPeriod extends RecordRefusal {
  readonly identifiers?: string | undefined
  /** Its quantity, where it can be read. */
  readonly quantity?: string | undefined
}

/** A record that becomes one row without days, which the row judge rejects. */
export function refusedPeriod(
  { line, text }: SentLine,
  { identifiers = ',,,', quantity = '0', ...refused }: RefusedPeriod,
): SentRecord {
  const rows = periodRow(identifiers, { first: '', last: '', quantity })
  return { line, raw: text, rows, count: 1, refused }
}

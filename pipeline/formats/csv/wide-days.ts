import { daySeconds, type Zone } from '../../../schemas/time/zone.js'
import { type ChangeDay, changeDayOf, type Numbering } from './interval-numbers.js'
import type { SentDay } from './times.js'

/** How the columns of a day are to be read. */
interface WideOptions {
  readonly zone: Zone
  /** Seconds. */
  readonly interval: number
  /** What the columns do on a day when the clock changes; undefined where rows may show it. */
  readonly numbering: Numbering | undefined
  /** Called with how many columns are left out, and why. */
  readonly count: (what: string, intervals: number) => void
}

type Quantities = readonly string[]

/** The quantities of a day in the order of time, one for each of its intervals; or why they are refused. */
export type WideDay = { readonly quantities: Quantities } | { readonly refused: string }

const isZero = (quantity: string) => /^-?0*\.?0*$/.test(quantity)
const lastOf = (quantities: Quantities) => quantities.findLastIndex((one) => one !== '') + 1

/**
 * Puts the columns of wide rows in the order of time. Where the clock skips an hour, columns of the hours of the
 * clock have a hole there; a row whose hole and last value could mean either numbering is refused.
 */
export function createWideDays({ zone, interval, numbering, count }: WideOptions) {
  const changes = new Map<string, ChangeDay | undefined>()
  const changeOf = ({ date, seconds }: SentDay): ChangeDay | undefined => {
    if (numbering === 'fixed' || seconds === daySeconds) return undefined
    if (!changes.has(date)) changes.set(date, changeDayOf(zone, date, interval))
    return changes.get(date)
  }
  const withoutHole = (sent: Quantities, { from, to, usual }: ChangeDay): WideDay => {
    if (!sent.slice(from, to).every(isZero))
      return { refused: 'the clock skips an hour of the day, and the row has values for it' }
    if (lastOf(sent) > usual) return { refused: countsOf(sent, usual) }
    count('that the clock skips, empty or 0: not loaded', to - from)
    return { quantities: [...sent.slice(0, from), ...sent.slice(to, usual)] }
  }
  const withRepeat = (sent: Quantities, { from, to, usual }: ChangeDay): WideDay => {
    const most = usual + to - from
    const second = sent.slice(usual, most)
    if (lastOf(sent) > most) return { refused: countsOf(sent, most) }
    if (second.length < to - from || second.every((one) => one === '')) return { refused: noSecond }
    return { quantities: [...sent.slice(0, to), ...second, ...sent.slice(to, usual)] }
  }
  return (day: SentDay, sent: Quantities): WideDay => {
    const change = changeOf(day)
    const intervals = day.seconds / interval
    const last = lastOf(sent)
    if (change !== undefined && numbering === 'clock')
      return change.isLong ? withRepeat(sent, change) : withoutHole(sent, change)
    if (change?.isLong === false && numbering === undefined) {
      const { from, to, usual } = change
      const hasHole = last > to && sent.slice(from, to).every((one) => one === '')
      if (hasHole && last > intervals && last <= usual) return withoutHole(sent, change)
      if (hasHole && last <= intervals) return { refused: unsure }
    }
    if (change?.isLong === true && last <= change.usual) return { refused: noSecond }
    // On the day of a clock change, one value too few may be a repeated hour that was left out.
    const isShort = day.seconds !== daySeconds && last < intervals
    if (last > intervals || sent.length < intervals || isShort)
      return { refused: countsOf(sent, intervals) }
    return { quantities: sent.slice(0, intervals) }
  }
}

const noSecond =
  'an hour of the day occurs twice, and the row has one value for it; send this day with both'
const unsure =
  'values are missing on a day when the clock changes: set numbering to clock or counted'

function countsOf(sent: Quantities, intervals: number): string {
  const values = sent.filter((one) => one !== '').length
  const has = `${values} values, the last in column ${lastOf(sent)} of ${sent.length}`
  return `the day has ${intervals} intervals, the row ${has}`
}

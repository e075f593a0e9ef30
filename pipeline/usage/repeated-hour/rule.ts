/** A time at which the clock is put back. */
export interface AutumnChange {
  /** The first instant of the second hour, epoch seconds. */
  readonly at: number
  /** How far the clock is put back, seconds: how long each of the two hours is. */
  readonly span: number
}

/** A row of a meter near a clock change. */
export interface NightRow {
  /** Its timestamp as an instant, epoch seconds; of one in the repeated hour in daylight time. */
  readonly at: number
  /** `held`: a rejected row, which only holds its place in the repeated hour. */
  readonly kind: 'outside' | 'repeated' | 'held'
  /** Equal for equal quantity, account and site. */
  readonly print: string
  readonly version: string
}

/** What is known of one meter at one clock change when a delivery is judged. */
export interface Night {
  readonly change: AutumnChange
  /** The interval length of the meter, seconds. */
  readonly length: number
  /** The rows of the delivery, in its order. */
  readonly rows: readonly NightRow[]
  /** Prints of the reads of this length that other deliveries have stored, by instant. */
  readonly stored: ReadonlyMap<number, string>
  /** The last instant near the hour that earlier deliveries have stored; undefined without one. */
  readonly last: number | undefined
  /** When the rows were here at the latest, epoch seconds; undefined where that proves nothing. */
  readonly arrivedAt: number | undefined
  /** Whether a timestamp says when its interval starts or when it ends. */
  readonly stamp: 'start' | 'end'
}

export type Hour = 'daylight' | 'standard'

/** What becomes of a row of the repeated hour (decision 15). */
export interface Choice {
  readonly version: string
  readonly hour: Hour
  /** Whether nothing proves the hour. */
  readonly isAmbiguous: boolean
  /** Whether the row is not usable: it might replace the value of the other hour. */
  readonly isRejected: boolean
}

/** The hour of a row; undefined where nothing proves it. */
type Proof = (row: NightRow) => Hour | undefined

/** Chooses the hour of each row of the repeated hour that is not held. */
export function chooseHours(night: Night): readonly Choice[] {
  const alone = proveAlone(night)
  const byStore = proveByStore(night)
  return usable(night).map((row) => {
    const hour = alone(row) ?? byStore(row)
    const { version } = row
    return hour === undefined
      ? { version, ...guess(row, night) }
      : { version, hour, isAmbiguous: false, isRejected: false }
  })
}

/** Whether the delivery itself leaves the hour of a row open. */
export function needsStore(night: Night): boolean {
  const alone = proveAlone(night)
  return usable(night).some((row) => alone(row) === undefined)
}

/** The rows that nothing can prove, whatever is stored: the delivery has the rows around the hour. */
export function ambiguousRows(night: Night): readonly NightRow[] {
  const { before, after } = neighbours(night)
  if (!before || !after || !fitsTwice(night)) return []
  const alone = proveAlone(night)
  return usable(night).filter((row) => alone(row) === undefined)
}

function usable({ rows }: Night): readonly NightRow[] {
  return rows.filter(({ kind }) => kind === 'repeated')
}

function inHour({ rows }: Pick<Night, 'rows'>): readonly NightRow[] {
  return rows.filter(({ kind }) => kind !== 'outside')
}

/** What the delivery proves: its arrival, its order, then its rows around the hour. */
function proveAlone(night: Night): Proof {
  const rows = isNewestFirst(night) ? inHour(night).toReversed() : inHour(night)
  const byOrder = proveByOrder(rows.filter((row) => mayBeSecond(row, night)))
  const byNeighbours = proveByNeighbours(night)
  return (row) => (mayBeSecond(row, night) ? (byOrder(row) ?? byNeighbours(row)) : 'daylight')
}

/** Seconds by which the clocks of sender and receiver may differ. */
const clockErrorMax = 60

/** Whether the interval in the second hour could have ended before the row arrived. */
function mayBeSecond({ at }: NightRow, { change, length, stamp, arrivedAt }: Night): boolean {
  const end = at + change.span + (stamp === 'start' ? length : 0)
  return arrivedAt === undefined || arrivedAt >= end - clockErrorMax
}

/** Whether more rows of the meter step back in time than forward. */
function isNewestFirst({ rows }: Night): boolean {
  const steps = rows.slice(1).map(({ at }, index) => Math.sign(at - (rows[index] as NightRow).at))
  return steps.reduce((sum, step) => sum + step, 0) < 0
}

/**
 * Rows in the order of time. A timestamp that is there twice shows that they are of both hours: they
 * rise to the end of the first, fall once and rise again. In any other order the first row of a
 * timestamp is daylight time, and only those that are there twice are proved.
 */
function proveByOrder(rows: readonly NightRow[]): Proof {
  const first = new Map<number, NightRow>()
  const twice = new Set<number>()
  for (const row of rows) {
    if (first.has(row.at)) twice.add(row.at)
    else first.set(row.at, row)
  }
  if (twice.size === 0) return () => undefined
  const isFall = (row: NightRow, index: number) => index > 0 && row.at <= (rows[index - 1]?.at ?? 0)
  const falls = rows.filter(isFall)
  if (falls.length === 1) {
    const daylight = new Set(rows.slice(0, rows.indexOf(falls[0] as NightRow)))
    return (row) => (daylight.has(row) ? 'daylight' : 'standard')
  }
  return (row) => {
    if (!twice.has(row.at)) return undefined
    return first.get(row.at) === row ? 'daylight' : 'standard'
  }
}

/**
 * The row one interval before the hour proves daylight time, the row one interval after it standard time.
 * Neither does for rows that may be of both hours.
 */
function proveByNeighbours(night: Night): Proof {
  if (!fitsTwice(night)) return proveByGrid(night, new Set(outside(night)))
  if (stepsBack(night)) return () => undefined
  const { before, after } = neighbours(night)
  return () => (before === after ? undefined : before ? 'daylight' : 'standard')
}

/** Whether the rows rise but for one step back within the hour, as where the clock is put back. */
function stepsBack(night: Night): boolean {
  const rows = isNewestFirst(night) ? night.rows.toReversed() : night.rows
  const falls = rows.slice(1).flatMap((row, index) => {
    const before = rows[index] as NightRow
    return row.at < before.at ? [[before, row]] : []
  })
  return falls.length === 1 && falls.flat().every(({ kind }) => kind !== 'outside')
}

function neighbours(night: Night): { readonly before: boolean; readonly after: boolean } {
  const { change, length } = night
  const has = (from: number) => outside(night).some((at) => at >= from && at < from + length)
  return { before: has(change.at - change.span - length), after: has(change.at + change.span) }
}

function outside({ rows }: Night): readonly number[] {
  return rows.filter(({ kind }) => kind === 'outside').map(({ at }) => at)
}

/** Whether each interval of the first hour comes again in the second; a longer one comes once. */
function fitsTwice({ change, length }: Night): boolean {
  return change.span % length === 0
}

/** An interval that comes once: of its two instants the one that is known, or next to a known one. */
function proveByGrid({ change, length }: Night, known: ReadonlySet<number>): Proof {
  const isNear = (at: number) => known.has(at - length) || known.has(at + length)
  return ({ at }) => {
    const second = at + change.span
    const [isFirst, isSecond] = [known.has(at), known.has(second)]
    if (isFirst !== isSecond) return isFirst ? 'daylight' : 'standard'
    if (isNear(at) === isNear(second)) return undefined
    return isNear(at) ? 'daylight' : 'standard'
  }
}

/**
 * What earlier deliveries prove: this one is exactly what comes next after their last read. Where
 * all of it equals the stored first hour, it may as well be that hour once more.
 */
function proveByStore(night: Night): Proof {
  const { change, length, stored, last = Number.NaN } = night
  if (!fitsTwice(night)) return proveByGrid(night, new Set(stored.keys()))
  const rows = inHour(night)
  const next = rows.map((_, index) => last + (index + 1) * length)
  const timestamps = next.map((at) => (at < change.at ? at : at - change.span))
  const isNext =
    next.every((at) => at >= change.at - change.span && at < change.at + change.span) &&
    isSame(timestamps, rows)
  const isRepeat = rows.every(({ at, print }) => stored.get(at) === print)
  if (!isNext || isRepeat || neighbours(night).before) return () => undefined
  return ({ at }) =>
    (next[timestamps.indexOf(at)] as number) < change.at ? 'daylight' : 'standard'
}

function isSame(timestamps: readonly number[], rows: readonly NightRow[]): boolean {
  const sorted = [...timestamps].sort((a, b) => a - b)
  const found = rows.map(({ at }) => at).sort((a, b) => a - b)
  return found.every((at, index) => at === sorted[index])
}

/**
 * Without a proof a row is daylight time where nothing is stored there. Where both hours are stored it
 * may equal one of them, which changes nothing. Anything else might be a value of the other hour.
 */
function guess(row: NightRow, { change, stored }: Night): Omit<Choice, 'version'> {
  const first = stored.get(row.at)
  const second = stored.get(row.at + change.span)
  const isDaylight = second === undefined ? first === undefined : first === row.print
  if (isDaylight || (first === undefined && second !== row.print)) return ambiguous('daylight')
  return ambiguous('standard', second !== row.print)
}

function ambiguous(hour: Hour, isRejected = false): Omit<Choice, 'version'> {
  return { hour, isAmbiguous: true, isRejected }
}

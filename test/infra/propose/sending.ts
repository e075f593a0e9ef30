import { createZone, type Zone } from '../../../schemas/time/zone.js'

/** A read that a sample has, as it must come out. */
export interface TrueRead {
  readonly meter: string
  /** Epoch seconds. */
  readonly start: number
  /** In the unit in which it is stored. */
  readonly quantity: string
}

/** A sample in the layout of a system, as it is described in public. */
export interface Layout {
  readonly system: string
  readonly timeZone: string
  readonly file: string
  readonly encoding?: 'latin1' | 'utf16le'
  readonly reads: readonly TrueRead[]
  /** What must be asked, with the right answers; none where the proposal is right at once. */
  readonly answers?: Readonly<Record<string, string>>
}

const minute = 60

export interface Times {
  readonly zone: Zone
  /** Local days, the last exclusive. */
  readonly days: readonly [from: string, to: string]
  readonly minutes: number
}

/** The starts of all intervals between two local midnights. */
function startsOf({ zone, days: [from, to], minutes }: Times): readonly number[] {
  const first = zone.dayStart(from)
  const count = (zone.dayStart(to) - first) / (minutes * minute)
  return Array.from({ length: count }, (_, at) => first + at * minutes * minute)
}

export const two = (value: number) => String(value).padStart(2, '0')

/** The parts of a clock at an instant. */
export function clockAt(zone: Zone, at: number) {
  const { year, month, day, hour, minute: minutes } = zone.toWall(at)
  return {
    iso: `${year}-${two(month)}-${two(day)}`,
    mdy: `${two(month)}/${two(day)}/${year}`,
    dmy: `${two(day)}.${two(month)}.${year}`,
    compact: `${year}${two(month)}${two(day)}`,
    hm: `${two(hour)}:${two(minutes)}`,
    hour,
    minutes,
  }
}

/** Different quantities with three decimals, never in the order of a register. */
export const quantityAt = (index: number) =>
  `0.${String(((index * 7_919) % 997) + 1).padStart(3, '0')}`
export const comma = (text: string) => text.replace('.', ',')

interface Row {
  readonly meter: string
  readonly start: number
  readonly quantity: string
}

interface Sending extends Times {
  readonly meters: readonly string[]
  readonly row: (row: Row, clock: (at: number) => ReturnType<typeof clockAt>) => string
  /** What shows the times; by default the zone itself. */
  readonly shown?: Zone
}

/** Rows of meters and times, with the reads that they are. */
export function send({ meters, row, shown, ...times }: Sending) {
  const clock = (at: number) => clockAt(shown ?? times.zone, at)
  let index = 0
  const reads = meters.flatMap((meter) =>
    startsOf(times).map((start) => ({ meter, start, quantity: quantityAt(++index) })),
  )
  return { reads, rows: reads.map((read) => row(read, clock)) }
}

export const lines = (...all: readonly string[]) => `${all.join('\n')}\n`

export const newYork = createZone('America/New_York')
export const chicago = createZone('America/Chicago')
export const berlin = createZone('Europe/Berlin')
export const london = createZone('Europe/London')
export const copenhagen = createZone('Europe/Copenhagen')
export const utc = createZone('UTC')
/** Standard time of New York all year. */
export const eastern = createZone('America/Panama')
/** That of Berlin. */
export const central = createZone('Africa/Algiers')

export const spring: Times['days'] = ['2026-03-07', '2026-03-10']
export const autumn: Times['days'] = ['2025-11-01', '2025-11-04']
export const winter: Times['days'] = ['2026-01-13', '2026-01-16']
export const europe: Times['days'] = ['2026-03-28', '2026-03-31']

export type Named = Pick<Layout, 'system' | 'answers' | 'encoding'> & { readonly zone: Zone }

export function layout(
  named: Named,
  head: readonly string[],
  sending: Omit<Sending, 'zone'>,
): Layout {
  const { reads, rows } = send({ zone: named.zone, ...sending })
  return toLayout(named, [...head, ...rows], reads)
}

export function toLayout(
  { zone, ...named }: Named,
  all: readonly string[],
  reads: readonly TrueRead[],
): Layout {
  return { ...named, timeZone: zone.timeZone, file: lines(...all), reads }
}

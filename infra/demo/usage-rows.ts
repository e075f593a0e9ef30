import { createZone, type Wall, type Zone } from '../../schemas/time/zone.js'
import type { MeterReference } from './customers.js'
import { draw } from './draw.js'

/** Contents of a generated usage file. The same options give the same bytes. */
export interface UsageOptions {
  readonly meters: readonly MeterReference[]
  readonly seed: number
  /** First local day, `YYYY-MM-DD`. */
  readonly firstDay: string
  readonly days: number
  /** 86400 gives one row for each local day, with a date as its timestamp. */
  readonly intervalSeconds: number
  /** IANA name of the zone of the timestamps. */
  readonly zone: string
  /** `gas` follows the season, `electric` (the default) the hour of the day. */
  readonly shape?: 'electric' | 'gas'
  /** Share of invalid rows, 0 to 1, with all flaws in equal parts; default 0. */
  readonly badShare?: number
}

/** One interval of a file's calendar. */
export interface Slot {
  /** Start, epoch seconds. */
  readonly startsAt: number
  /** Local wall-clock time as in the file: month first, without zero padding. */
  readonly stamp: string
  /** Peak use of a meter in it, thousandths of a unit. */
  readonly peakMilli: number
}

/** Every way in which a row can be invalid. */
export const flaws = [
  'accountEmpty',
  'siteEmpty',
  'meterEmpty',
  'timeUnreadable',
  'quantityUnreadable',
  'columnsTooMany',
  'columnsTooFew',
] as const
export type Flaw = (typeof flaws)[number]

export interface UsageRow extends Slot, MeterReference {
  /** Millionths of a unit. */
  readonly quantityMicro: bigint
  readonly flaw: Flaw | undefined
  /** The line without its end. */
  readonly line: string
}

export const usageHeader = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'

const daySeconds = 86_400
const quantityStream = 0x1000_0000
const flawStream = 0x2000_0000
/** Thousandths of a kWh per 15 minutes, by local hour: low at night, peaks in morning and evening. */
const electricByHour = [
  110, 95, 90, 90, 95, 140, 260, 380, 330, 260, 240, 250, 270, 260, 260, 290, 400, 620, 720, 680,
  560, 420, 280, 170,
]

/** The intervals of a file in time order: 92 or 100 quarter hours on a day of a clock change. */
export function usageSlots(options: UsageOptions): readonly Slot[] {
  const zone = createZone(options.zone)
  const slots: Slot[] = []
  let startsAt = zone.dayStart(options.firstDay)
  for (let day = 0; day < options.days; day++) {
    const end = startsAt + zone.daySeconds(dayOf(zone, startsAt))
    if (options.intervalSeconds === daySeconds) slots.push(slotAt(zone, startsAt, options))
    else {
      for (let at = startsAt; at < end; at += options.intervalSeconds) {
        slots.push(slotAt(zone, at, options))
      }
    }
    startsAt = end
  }
  return slots
}

/**
 * The rows of a file one by one, meter by meter in time order, to compare with stored rows.
 * `usageFile` writes the file itself faster.
 */
export function* usageRows(options: UsageOptions): Generator<UsageRow> {
  const slots = usageSlots(options)
  for (const [index, meter] of options.meters.entries()) {
    for (const [position, slot] of slots.entries()) {
      const milli = quantityMilli(drawUse(options.seed, index, position), slot.peakMilli)
      const flaw = flawAt(options, index, position)
      const row = { ...slot, ...meter, quantityMicro: BigInt(milli) * 1_000n, flaw }
      yield { ...row, line: lineOf(row, milli) }
    }
  }
}

/** The lines of a file, header first, without line ends. */
export async function* usageLines(options: UsageOptions): AsyncGenerator<string> {
  yield usageHeader
  for (const row of usageRows(options)) yield row.line
}

/** The meter's use in the slot, as a share of the range, 0 to 65535. */
export function drawUse(seed: number, meter: number, position: number): number {
  return draw(seed, quantityStream + meter, position) >>> 16
}

/** Thousandths of a unit, from half of the peak to one and a half times the peak. */
export function quantityMilli(use: number, peakMilli: number): number {
  return (peakMilli >>> 1) + Math.floor((use * peakMilli) / 65_536)
}

/** The flaw of a row; undefined for almost all rows. */
export function flawAt(options: UsageOptions, meter: number, position: number): Flaw | undefined {
  const badShare = options.badShare ?? 0
  if (badShare <= 0) return undefined
  const drawn = draw(options.seed, flawStream + meter, position)
  if (drawn / 2 ** 32 >= badShare) return undefined
  return flaws[draw(options.seed + 1, flawStream + meter, position) % flaws.length]
}

/** The line of a row, changed by its flaw. */
export function lineOf(
  row: MeterReference & { readonly stamp: string; readonly flaw: Flaw | undefined },
  milli: number,
): string {
  const quantity = (milli / 1_000).toFixed(3)
  const { accountNumber, externalSiteId, meterId, stamp } = row
  const columns = {
    accountEmpty: ['', externalSiteId, meterId, stamp, quantity],
    siteEmpty: [accountNumber, '', meterId, stamp, quantity],
    meterEmpty: [accountNumber, externalSiteId, '', stamp, quantity],
    timeUnreadable: [accountNumber, externalSiteId, meterId, 'not a time', quantity],
    quantityUnreadable: [accountNumber, externalSiteId, meterId, stamp, 'n/a'],
    columnsTooMany: [accountNumber, externalSiteId, meterId, stamp, quantity, 'extra'],
    columnsTooFew: [accountNumber, externalSiteId, meterId, stamp],
    none: [accountNumber, externalSiteId, meterId, stamp, quantity],
  } satisfies Record<Flaw | 'none', readonly string[]>
  return columns[row.flaw ?? 'none'].join(',')
}

function slotAt(zone: Zone, startsAt: number, options: UsageOptions): Slot {
  const wall = zone.toWall(startsAt)
  const date = `${wall.month}/${wall.day}/${wall.year}`
  const daily = options.intervalSeconds === daySeconds
  const minute = String(wall.minute).padStart(2, '0')
  return {
    startsAt,
    stamp: daily ? date : `${date} ${wall.hour}:${minute}`,
    peakMilli: peakAt(wall, options),
  }
}

/** Gas follows the season (most in January), electricity the hour of the day. */
function peakAt(wall: Wall, options: UsageOptions): number {
  const quarters = options.intervalSeconds / 900
  if (options.shape === 'gas') {
    const season = 1 + Math.cos(((wall.month - 1) / 12) * 2 * Math.PI)
    return Math.round((300 + 2_600 * season) * (quarters / 96))
  }
  return Math.round((electricByHour[wall.hour] ?? 0) * quarters)
}

function dayOf(zone: Zone, epochSeconds: number): string {
  const wall = zone.toWall(epochSeconds)
  return new Date(Date.UTC(wall.year, wall.month - 1, wall.day)).toISOString().slice(0, 10)
}

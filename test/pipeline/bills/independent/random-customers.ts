import type { Registration } from '../../../../schemas/gateway/registration.js'
import type { Draw } from './draw.js'
import { type Frame, frames as longFrames } from './frames.js'
import type { Tariffs } from './tariff.js'
import { dayOf, daysBetween, isWeekend, type WallCalendar } from './wall-calendar.js'

/** What a customer's record said from a day on. */
export interface RecordFrom {
  readonly day: number
  readonly client: string
  readonly account: string
  readonly rate: string
  readonly cycle: string
}

export interface RandomRead {
  readonly instant: number
  readonly account: string
  /** Thousandths of a unit. */
  readonly thousandths: number
}

/** A meter with all that is known of it. */
export interface RandomMeter {
  readonly meter: string
  readonly what: string
  readonly gas: boolean
  readonly seconds: number
  /** How its file writes times. */
  readonly stamps: 'wall' | 'offset'
  readonly records: readonly RecordFrom[]
  /** A second client of the same account, from the first day on. */
  readonly sharedWith?: string
  readonly reads: readonly RandomRead[]
}

const whats = [
  'plain',
  'plain',
  'gaps',
  'rate',
  'rate',
  'move',
  'renumbered',
  'netMetering',
  'shared',
  'cycle',
  'several',
  'several',
] as const

const historyDays = 28
const longAgo = dayOf('2020-01-01')

export interface CustomersWanted {
  readonly count: number
  readonly tariffs: Tariffs
  readonly calendar: WallCalendar
  /** The last two overlap. */
  readonly frames?: readonly Frame[]
  /** Of the names of accounts and meters. */
  readonly prefix?: string
}

/** So many customers, of each kind in turn, each in a frame of its own or of others. */
export function drawCustomers(
  draw: Draw,
  { count, tariffs, calendar, frames = longFrames, prefix = '' }: CustomersWanted,
): readonly RandomMeter[] {
  const overlapping = frames.slice(-2) as [Frame, Frame]
  return Array.from({ length: count }, (_, at) => at).flatMap((at) => {
    const what = whats[(at + Math.floor(at / whats.length)) % whats.length] ?? 'plain'
    const frame = what === 'cycle' ? draw.pick(overlapping) : (frames[at % frames.length] as Frame)
    const meters = what === 'several' ? 2 + draw.below(2) : 1
    const rate = draw.pick(tariffs.codes.filter(({ gas }) => !gas))
    const others = Array.from({ length: meters }, (_, nth) =>
      drawMeter(draw, {
        what,
        frame,
        tariffs,
        calendar,
        overlapping,
        account: `${prefix}A${at}`,
        meter: `${prefix}M${at}-${nth}`,
        rate: rate.rate,
      }),
    )
    return others
  })
}

interface MeterDraw {
  readonly what: string
  readonly frame: Frame
  readonly overlapping: readonly [Frame, Frame]
  readonly tariffs: Tariffs
  readonly calendar: WallCalendar
  readonly account: string
  readonly meter: string
  readonly rate: string
}

function drawMeter(draw: Draw, one: MeterDraw): RandomMeter {
  const { what, frame, tariffs, account, meter } = one
  const gas = what !== 'several' && what !== 'netMetering' && draw.chance(12)
  const rates = tariffs.codes.filter((code) => code.gas === gas).map(({ rate }) => rate)
  const rate = gas || what !== 'several' ? draw.pick(rates) : one.rate
  const isDaily = gas || (draw.chance(15) && what !== 'several')
  const seconds = isDaily ? 86_400 : draw.pick([900, 900, 900, 3_600])
  const [first, last] = [dayOf(frame.first), dayOf(frame.last)]
  const until = frame.today === undefined ? last : dayOf(frame.today)
  const change = first + 1 + draw.below(Math.max(1, until - first - 1))
  const record = { day: longAgo, client: `C${account}`, account, rate, cycle: frame.cycle }
  const records = [record, ...laterRecords(draw, { ...one, record, change, rates })]
  return {
    ...{ meter, what, gas, seconds, records },
    stamps: draw.pick(['wall', 'offset']),
    ...(what === 'shared' && { sharedWith: `${record.client}-2` }),
    reads: drawReads(draw, { ...one, records, seconds }),
  }
}

function laterRecords(
  draw: Draw,
  at: MeterDraw & { record: RecordFrom; change: number; rates: readonly string[] },
): readonly RecordFrom[] {
  const { what, record, change } = at
  const own = { ...record, day: change }
  if (what === 'rate') return [{ ...own, rate: draw.pick(at.rates) }]
  if (what === 'move')
    return [{ ...own, client: `${own.client}-new`, account: `${own.account}-new` }]
  if (what === 'renumbered') return [{ ...own, account: `${own.account}-new` }]
  if (what !== 'cycle') return []
  const [early, late] = at.overlapping
  const other = own.cycle === early.cycle ? late.cycle : early.cycle
  const shared = dayOf(early.last) - dayOf(late.first) + 1
  const changed = { ...own, day: dayOf(late.first) + draw.below(shared), cycle: other }
  return draw.chance(30)
    ? [changed, { ...changed, day: changed.day + 4, rate: draw.pick(at.rates) }]
    : [changed]
}

/** The days of which a meter of a frame has reads. */
function readDays({ frame, what, overlapping }: MeterDraw): readonly number[] {
  const [first, last] = [dayOf(frame.first), dayOf(frame.last)]
  if (what === 'cycle') {
    return daysBetween(dayOf(overlapping[0].first), dayOf(overlapping[1].last))
  }
  if (frame.today === undefined) return daysBetween(first, last)
  const yesterday = dayOf(frame.today) - 1
  if (!frame.hasLastYearOnly) return daysBetween(first - historyDays, yesterday)
  const yearBefore = daysBetween(first, last).map((day) => day - 364)
  return [...yearBefore, ...daysBetween(first, yesterday)]
}

function drawReads(
  draw: Draw,
  one: MeterDraw & { readonly records: readonly RecordFrom[]; readonly seconds: number },
): readonly RandomRead[] {
  const { calendar, records, seconds, what } = one
  const size = draw.below(900) + 20
  const missing = what === 'gaps' ? draw.pick([1, 1, 5, 50]) : 0
  return readDays(one).flatMap((day) => {
    if (missing > 0 && draw.chance(5)) return []
    const start = calendar.startOf(day)
    const count = seconds === 86_400 ? 1 : (calendar.startOf(day + 1) - start) / seconds
    const account = recordOn(records, day).account
    const most = size * (isWeekend(day) ? 2 : 1) * (seconds / 900)
    return Array.from({ length: count }, (_, at) => at).flatMap((at) => {
      if (count > 1 && draw.chance(missing)) return []
      const thousandths = draw.below(most) - (what === 'netMetering' ? Math.floor(most * 0.45) : 0)
      return [{ instant: start + at * seconds, account, thousandths }]
    })
  })
}

/** What the record said on a day. */
export function recordOn(records: readonly RecordFrom[], day: number): RecordFrom {
  return (records.findLast((one) => one.day <= day) ?? records[0]) as RecordFrom
}

/** The records of customers that begin on a day, each with all meters of its client. */
export function customersOn(meters: readonly RandomMeter[], day: number): readonly Registration[] {
  const byClient = new Map<string, Registration>()
  for (const one of meters.flatMap((meter) => recordsOn(meter, day))) {
    const known = byClient.get(one.clientId)
    const all = [...(known?.meters ?? []), ...one.meters]
    byClient.set(one.clientId, { ...one, meters: all })
  }
  return [...byClient.values()]
}

function recordsOn(one: RandomMeter, day: number): readonly Registration[] {
  const record = one.records.find((found) => found.day === day)
  if (record === undefined) return []
  const codes = {
    meterType: one.gas ? ('Gas' as const) : ('Electric' as const),
    unitOfMeasure: one.gas ? 'ccf' : 'kWh',
    ...{ rateCode: record.rate, billingCycleId: record.cycle, isAMI: true },
  }
  const meter = { accountNumber: record.account, externalSiteId: 'S', meterId: one.meter, ...codes }
  const clients = [record.client, ...(one.sharedWith === undefined ? [] : [one.sharedWith])]
  return clients.map((clientId) => ({ clientId, acctStatus: 'A', meters: [meter] }))
}

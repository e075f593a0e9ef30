import { espiRoot } from '../../schemas/gateway/connect.js'
import { lastsUntil } from '../../schemas/time/daily.js'
import { daySeconds, nextDay, type Zone } from '../../schemas/time/zone.js'
import type { Detail, PeriodBill } from './bills.js'
import type { ClockRules } from './clock-rules.js'
import type { Costs } from './costs.js'
import { entry, interval, resource, toUuid, type Visible } from './entry.js'
import type { DayReads, Series } from './reads.js'
import type { Share } from './share.js'
import { measureOf, serviceOf, toAmount, toAmounts, toValue } from './units.js'
import { element, type Xml } from './xml.js'

const usDollars = 840
/** "Raw": the sender says nothing of a read. */
const rawQuality = 14
/** Edited by hand; and estimated, for which the schema has no code that leaves the method open. */
const qualityCodes = { asSent: rawQuality, substituted: 7, estimated: 8 } as const
/** "Revenue quality": good enough that the utility billed it. */
const revenueQuality = 19
const derivedQuality = 11
const [forwardFlow, netFlow] = [1, 4]

/** Addresses of what belongs to one meter of one client. They are hashes: no number can be read from them. */
export interface MeterPaths extends Pick<Share, 'owner'> {
  readonly up: string
  readonly self: string
  readonly readings: string
  readonly summaries: string
}

/** The address of the time parameters of a zone. */
function timePath(zone: Zone): string {
  return `${espiRoot}/LocalTimeParameters/${toUuid('time', zone.timeZone)}`
}

/** `owner` is the utility and the client; `parent` is the path above the usage points. */
export function pathsOf(
  { owner, parent }: Pick<Share, 'owner' | 'parent'>,
  { meter, commodity }: Pick<Series, 'meter' | 'commodity'>,
): MeterPaths {
  const up = `${parent}/UsagePoint`
  const self = `${up}/${toUuid('meter', ...owner, meter, commodity)}`
  return { owner, up, self, readings: `${self}/MeterReading`, summaries: `${self}/UsageSummary` }
}

export function timeEntry(zone: Zone, rules: ClockRules, visible: Visible): Xml {
  return entry({
    self: timePath(zone),
    up: `${espiRoot}/LocalTimeParameters`,
    title: 'Local time parameters',
    visible,
    content: resource('LocalTimeParameters', [
      element('dstEndRule', rules.dstEndRule),
      element('dstOffset', rules.dstOffset),
      element('dstStartRule', rules.dstStartRule),
      element('tzOffset', rules.tzOffset),
    ]),
  })
}

export interface UsagePointOptions {
  readonly paths: MeterPaths
  readonly commodity: string
  readonly isHeld: boolean
  readonly hasBills: boolean
  readonly zone: Zone
  readonly visible: Visible
}

export function usagePointEntry(options: UsagePointOptions): Xml {
  const { paths, commodity, isHeld, hasBills, zone, visible } = options
  const { service, title } = serviceOf(commodity)
  return entry({
    self: paths.self,
    up: paths.up,
    related: [paths.readings, ...(hasBills ? [paths.summaries] : []), timePath(zone)],
    title,
    visible,
    content: resource('UsagePoint', [
      element('roleFlags', '0000'),
      element('ServiceCategory', element('kind', service)),
      element('status', isHeld ? 1 : 0),
    ]),
  })
}

/** A series as it is written: where, and by which power of ten. */
export interface SeriesWritten {
  readonly series: Series
  readonly self: string
  readonly multiplier: number
}

/** The entries of a series without its blocks, and what these need. */
export function openSeries(
  paths: MeterPaths,
  series: Series,
): SeriesWritten & { readonly entries: readonly Xml[] } {
  const { commodity, unit, seconds, isNet, largest, isFine } = series
  const { uom, multiplier } = measureOf(unit, largest, isFine)
  const self = `${paths.readings}/${toUuid('series', paths.self, unit, seconds, isNet ? 'net' : 'forward', multiplier)}`
  const types = `${espiRoot}/ReadingType`
  const type = `${types}/${toUuid('type', self)}`
  const { commodity: commodityCode, kind } = serviceOf(commodity)
  const title = `${isNet ? 'Net usage' : 'Usage'} in intervals of ${seconds} seconds`
  const codes: readonly (readonly [string, number])[] = [
    // Delta data: what was used in the interval.
    ['accumulationBehaviour', 4],
    ['commodity', commodityCode],
    ['consumptionTier', 0],
    ['currency', usDollars],
    // Normal: neither an average nor an extreme.
    ['dataQualifier', 12],
    ['defaultQuality', rawQuality],
    ['flowDirection', isNet ? netFlow : forwardFlow],
    ['intervalLength', seconds],
    ['kind', kind],
    ['phase', 0],
    ['powerOfTenMultiplier', multiplier],
    ['timeAttribute', 0],
    ['tou', 0],
    ['uom', uom],
  ]
  const entries = [
    entry({
      self,
      up: paths.readings,
      related: [`${self}/IntervalBlock`, type],
      title,
      visible: series,
      content: resource('MeterReading', []),
    }),
    entry({
      self: type,
      up: types,
      title,
      visible: series,
      content: resource(
        'ReadingType',
        codes.map(([name, code]) => element(name, code)),
      ),
    }),
  ]
  return { series, self, multiplier, entries }
}

/** The reads of a day, and where the first read after them starts, if the feed has it. */
export interface BlockReads extends DayReads {
  readonly following: number | undefined
}

/**
 * How long each read of a day is. One of a day has 23 or 25 hours where the clock changes: those of its day if
 * it begins at midnight, else until the next one.
 */
function createLengths({ seconds }: Series, { day, reads, following }: BlockReads, zone: Zone) {
  const starts = [...reads.map(([start]) => start), following]
  return (start: number): number => {
    if (seconds !== daySeconds) return seconds
    if (start === zone.dayStart(day)) return zone.daySeconds(day)
    const next = starts[starts.indexOf(start) + 1] ?? 0
    return lastsUntil(start, next) ? next - start : seconds
  }
}

/** The reads of one local day. The block is as long as its reads: from the first start to the last end. */
export function blockEntry(
  { series, self, multiplier, costs }: SeriesWritten & { readonly costs: Costs },
  day: BlockReads,
  zone: Zone,
): Xml {
  const { unit } = series
  const lengthOf = createLengths(series, day, zone)
  const readings = day.reads.map(([start, quantity, quality]) =>
    element('IntervalReading', [
      ...costOf(costs.get(start)),
      element('ReadingQuality', element('quality', qualityCodes[quality])),
      interval('timePeriod', start, lengthOf(start)),
      element('value', toValue(quantity, { unit, multiplier })),
    ]),
  )
  const start = day.reads[0]?.[0] ?? zone.dayStart(day.day)
  const last = day.reads.at(-1)?.[0] ?? start
  return entry({
    self: `${self}/IntervalBlock/${toUuid('block', self, day.day)}`,
    up: `${self}/IntervalBlock`,
    title: `Usage of ${day.day}`,
    visible: day,
    content: resource('IntervalBlock', [
      interval('interval', start, last + lengthOf(last) - start),
      ...readings,
    ]),
  })
}

const costOf = (amount: bigint | undefined) =>
  amount === undefined ? [] : [element('cost', amount)]

/** Codes of ItemKind: of charges by kind, whatever their sign; other charges are administrative. */
const itemKinds: Readonly<Record<string, number>> = {
  ...{ Delivery: 2, Rider: 3, Tax: 5, TaxPercent: 5, TaxAmount: 5, Credit: 8 },
}
const administrative = 4
const noteLengthMax = 256

/** The lines of a bill that are not for energy. They add up to `costAdditionalLastPeriod`. */
function detailsOf(details: readonly Detail[]): readonly Xml[] {
  const amounts = toAmounts(details.map(([, , dollars]) => dollars))
  return details.map(([kind, text], at) =>
    element('costAdditionalDetailLastPeriod', [
      element('amount', amounts[at] as bigint),
      element('note', text.slice(0, noteLengthMax)),
      element('itemKind', itemKinds[kind] ?? administrative),
    ]),
  )
}

/** The bill of a period. Its address does not depend on the days by which the utility bills it later. */
export function summaryEntry(paths: MeterPaths, bill: PeriodBill, zone: Zone): Xml {
  const { first, last, quantity, unit, total, additional, details, publishedAt } = bill
  const { uom, multiplier } = measureOf(unit, quantity)
  const start = zone.dayStart(first)
  const end = zone.dayStart(nextDay(last))
  return entry({
    self: `${paths.summaries}/${toUuid('bill', ...paths.owner, paths.self, bill.account, bill.computed.first)}`,
    up: paths.summaries,
    title: `${bill.isBilled ? 'Bill' : 'Computed bill'} of ${first} to ${last}`,
    visible: { first: publishedAt, last: publishedAt },
    content: resource('UsageSummary', [
      interval('billingPeriod', start, end - start),
      ...(total === null ? [] : [element('billLastPeriod', toAmount(total))]),
      ...(additional === null ? [] : [element('costAdditionalLastPeriod', toAmount(additional))]),
      ...detailsOf(details),
      element('currency', usDollars),
      element('overallConsumptionLastPeriod', [
        element('powerOfTenMultiplier', multiplier),
        element('timeStamp', end),
        element('uom', uom),
        element('value', toValue(quantity, { unit, multiplier })),
      ]),
      element('qualityOfReading', bill.isBilled ? revenueQuality : derivedQuality),
      element('statusTimeStamp', publishedAt),
      element('commodity', serviceOf(bill.commodity).commodity),
    ]),
  })
}

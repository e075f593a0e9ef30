import { Fault } from '../../schemas/fault.js'
import { isDay } from '../../schemas/record-value.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { addDays, daySeconds, type Zone } from '../../schemas/time/zone.js'
import { type PeriodBill, readPeriodBills } from './bills.js'
import { readClockRules } from './clock-rules.js'
import { type Costs, readCosts } from './costs.js'
import { feedHead, toLines, type Visible } from './entry.js'
import {
  type FeedStore,
  readDays,
  readMeters,
  readSeries,
  type Series,
  type UsageWanted,
} from './reads.js'
import {
  blockEntry,
  type MeterPaths,
  openSeries,
  pathsOf,
  type SeriesWritten,
  summaryEntry,
  timeEntry,
  usagePointEntry,
} from './resources.js'
import {
  type Share,
  shareAll,
  sharedBills,
  shares,
  sharesBills,
  sharesCommodity,
  sharesIntervals,
} from './share.js'
import type { Xml } from './xml.js'

export interface GreenButtonContext {
  readonly store: FeedStore
  /** Called before the statements that read for the next pieces; what it throws ends the feed. */
  readonly beforePart?: () => Promise<void>
  readonly profile: Pick<Profile, 'database'>
  readonly zone: Zone
  readonly now: () => Date
}

/** The days that the store and the zone know. */
const [firstDay, lastDay] = ['1970-01-02', '2105-12-31']

/**
 * A client's usage as a Green Button feed (ESPI 4.0), in pieces of one day of one meter. Everything that
 * can be refused is refused before the first piece: throws `CONFIG` for days that are not valid, an unknown
 * client, and a client without reads in these days.
 */
export async function greenButton(
  context: GreenButtonContext,
  wanted: UsageWanted,
): Promise<AsyncIterable<string>> {
  expectDays(wanted)
  const { clientId, from, to } = wanted
  const feed = await openFeed(context, wanted)
  if (feed === 'unregistered') {
    throw new Fault(
      'CONFIG',
      `client ${clientId} is not registered; use a client_id of the view registration`,
    )
  }
  if (feed === 'empty') {
    throw new Fault(
      'CONFIG',
      `client ${clientId} has no reads from ${from} to ${to}; choose other days, or load their files first`,
    )
  }
  return feed
}

/** Opens feeds as downloads of customers; undefined where a client has no reads in the days. */
export function createOpenFeed(context: Omit<GreenButtonContext, 'store' | 'beforePart'>) {
  return async (store: FeedStore, wanted: UsageWanted, beforePart: () => Promise<void>) => {
    const feed = await openFeed({ ...context, store, beforePart }, wanted)
    return typeof feed === 'string' ? undefined : feed
  }
}

/** The feed, or why there is none, for days that are valid. */
async function openFeed(
  context: GreenButtonContext,
  wanted: UsageWanted,
): Promise<AsyncIterable<string> | 'unregistered' | 'empty'> {
  const share = shareAll([context.profile.database, wanted.clientId], wanted)
  const found = await findUsage(context, wanted, share)
  if (found.meters.size === 0) return 'unregistered'
  return found.series.length === 0 ? 'empty' : writeFeed(context, found)
}

/** What a client has in some days, and what of it is shared. */
interface Found {
  readonly wanted: UsageWanted
  readonly share: Share
  readonly meters: ReadonlyMap<string, boolean>
  readonly series: readonly Series[]
  readonly bills: readonly PeriodBill[]
}

/** Without meters for an unknown client. */
export async function findUsage(
  { store, zone }: GreenButtonContext,
  wanted: UsageWanted,
  share: Share,
): Promise<Found> {
  const meters = await readMeters(store, wanted.clientId)
  const all = meters.size === 0 ? [] : await readSeries(store, wanted)
  const series = all.filter(({ commodity }) => sharesCommodity(share, commodity))
  // Costs of intervals are parts of bills, so these are read also where they are not shared themselves.
  const needsBills = series.length > 0 && (sharesBills(share) || shares(share, 'intervalCosts'))
  const bills = needsBills
    ? await readPeriodBills(store, { ...wanted, timeZone: zone.timeZone })
    : []
  return { wanted, share, meters, series, bills }
}

/** The feed in pieces: time parameters, and what each usage point has in the window of the share. */
export async function* writeFeed(
  context: GreenButtonContext,
  found: Found,
): AsyncGenerator<string> {
  const { zone, now } = context
  const { wanted, share, series } = found
  const rules = readClockRules(zone, Number(wanted.to.slice(0, 4)))
  yield feedHead(share.feedId, now(), share.self)
  yield toLines([timeEntry(zone, rules, visibleOf(series, now()))])
  for (const own of byMeter(series)) yield* writeMeter(context, found, own)
  yield '</feed>\n'
}

type OneMeter = readonly [Series, ...Series[]]

/** The usage points in their order. */
export function usagePointsOf(zone: Zone, found: Found): readonly UsagePoint[] {
  return byMeter(found.series).map((own) => usagePointOf(zone, found, own))
}

/** A usage point with its bills. */
interface UsagePoint {
  readonly paths: MeterPaths
  readonly entry: Xml
  readonly visible: Visible
  /** All that its intervals may be part of, and of these the ones with a day in the range. */
  readonly bills: readonly PeriodBill[]
  readonly summaries: readonly PeriodBill[]
}

function usagePointOf(
  zone: Zone,
  { wanted, share, meters, bills }: Found,
  series: OneMeter,
): UsagePoint {
  const { meter, commodity } = series[0]
  const paths = pathsOf(share, series[0])
  const own = bills.filter((bill) => bill.meter === meter && bill.commodity === commodity)
  const visible = spanOf(series)
  const summaries = own.filter(({ computed }) => computed.last >= wanted.from)
  const hasBills = summaries.length > 0 && sharesBills(share)
  const point = { paths, commodity, zone, visible, hasBills }
  const isHeld = meters.get(meter) ?? false
  return { paths, entry: usagePointEntry({ ...point, isHeld }), visible, bills: own, summaries }
}

/** One usage point: its series, their blocks, its bills; nothing if none of them is shared. */
async function* writeMeter(
  context: GreenButtonContext,
  found: Found,
  series: OneMeter,
): AsyncGenerator<string> {
  const { share } = found
  const { paths, entry, bills, summaries } = usagePointOf(context.zone, found, series)
  let isOpen = false
  const open = (entries: readonly Xml[]) => {
    const head = isOpen ? [] : [entry]
    isOpen = true
    return toLines([...head, ...entries])
  }
  for (const one of series.filter((each) => sharesIntervals(share, each))) {
    const written = openSeries(paths, one)
    let head = written.entries
    for await (const block of writeBlocks(context, found, { written, bills })) {
      yield open([...head, block])
      head = []
    }
  }
  const shared = sharedBills(share, summaries)
  if (shared.length > 0) {
    yield open(shared.map((bill) => summaryEntry(paths, bill, context.zone)))
  }
}

/** The blocks of a series. */
async function* writeBlocks(
  { store, zone, beforePart }: GreenButtonContext,
  { wanted, share }: Found,
  { written, bills }: { readonly written: SeriesWritten; readonly bills: readonly PeriodBill[] },
): AsyncGenerator<Xml> {
  const { series } = written
  for (const days of partsOf(series)) {
    await beforePart?.()
    const hasCosts = shares(share, 'intervalCosts')
    const part = { ...wanted, ...days, window: share.window, timeZone: zone.timeZone, hasCosts }
    const found = await readDays(store, part, series)
    if (found.length === 0) continue
    const costs = hasCosts ? await readCosts(store, part, { ...series, bills }) : noCosts
    for (const [at, day] of found.entries()) {
      const following = found[at + 1]?.reads[0]?.[0]
      yield blockEntry({ ...written, costs }, { ...day, following }, zone)
    }
  }
}

const noCosts: Costs = new Map()

/** Reads of a series that are read at once: some 300 kB. */
const readsAtOnce = 3_072

/** The days of a series, some at once: what is kept while a reader is slow does not grow with them. */
function partsOf({ from, to, seconds }: Series) {
  const daysAtOnce = Math.max(1, Math.floor((readsAtOnce * seconds) / daySeconds))
  const parts: { readonly from: string; readonly to: string }[] = []
  for (let at = from; at <= to; at = addDays(at, daysAtOnce)) {
    const last = addDays(at, daysAtOnce - 1)
    parts.push({ from: at, to: last < to ? last : to })
  }
  return parts
}

/** Series come ordered by meter and commodity. */
function byMeter(series: readonly Series[]): readonly OneMeter[] {
  const groups = new Map<string, [Series, ...Series[]]>()
  for (const one of series) {
    const key = JSON.stringify([one.meter, one.commodity])
    groups.set(key, [...(groups.get(key) ?? []), one] as [Series, ...Series[]])
  }
  return [...groups.values()]
}

/** Of the whole feed; for one without entries it is now. */
function visibleOf(series: readonly Series[], now: Date): Visible {
  const at = Math.floor(now.getTime() / 1_000)
  return series.length === 0 ? { first: at, last: at } : spanOf(series)
}

function spanOf(series: readonly Series[]): Visible {
  return {
    first: series.reduce((least, { first }) => Math.min(least, first), Number.POSITIVE_INFINITY),
    last: series.reduce((most, { last }) => Math.max(most, last), 0),
  }
}

function expectDays({ from, to }: UsageWanted): void {
  for (const [name, day] of [
    ['--from', from],
    ['--to', to],
  ] as const) {
    if (isDay(day) && day >= firstDay && day <= lastDay) continue
    throw new Fault(
      'CONFIG',
      `${name} ${day} is not a day between ${firstDay} and ${lastDay}; write YYYY-MM-DD`,
    )
  }
  if (from > to) {
    throw new Fault('CONFIG', `--from ${from} is after --to ${to}; exchange the two days`)
  }
}

import { Fault } from '../../schemas/fault.js'
import { isDay } from '../../schemas/record-value.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { addDays, type Zone } from '../../schemas/time/zone.js'
import { type PeriodBill, readPeriodBills } from './bills.js'
import { readClockRules } from './clock-rules.js'
import { readCosts } from './costs.js'
import { atomNamespace, isoOf, toUuid } from './entry.js'
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
  openSeries,
  pathsOf,
  summaryEntry,
  timeEntry,
  usagePointEntry,
} from './resources.js'
import { element, startTag, type Xml } from './xml.js'

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
  const { store } = context
  const meters = await readMeters(store, wanted.clientId)
  if (meters.size === 0) return 'unregistered'
  const series = await readSeries(store, wanted)
  if (series.length === 0) return 'empty'
  const bills = await readPeriodBills(store, { ...wanted, timeZone: context.zone.timeZone })
  return write(context, { wanted, meters, series, bills })
}

interface Found {
  readonly wanted: UsageWanted
  readonly meters: ReadonlyMap<string, boolean>
  readonly series: readonly Series[]
  readonly bills: readonly PeriodBill[]
}

async function* write(context: GreenButtonContext, found: Found): AsyncGenerator<string> {
  const { profile, zone, now } = context
  const { wanted, series } = found
  const owner = [profile.database, wanted.clientId]
  const visible = spanOf(series)
  const at = isoOf(Math.floor(now().getTime() / 1_000))
  yield '<?xml version="1.0" encoding="UTF-8"?>\n'
  yield `${startTag('feed', { xmlns: atomNamespace })}\n`
  yield lines([
    element('id', `urn:uuid:${toUuid('feed', ...owner, wanted.from, wanted.to)}`),
    element('title', 'Green Button energy usage'),
    element('updated', at),
    timeEntry(zone, readClockRules(zone, Number(wanted.to.slice(0, 4))), visible),
  ])
  for (const [first, ...others] of byMeter(series)) {
    if (first !== undefined) yield* writeMeter(context, found, [first, ...others])
  }
  yield '</feed>\n'
}

/** One usage point: its series, their blocks, its bills. */
async function* writeMeter(
  { store, profile, zone, beforePart }: GreenButtonContext,
  { wanted, meters, bills }: Found,
  series: readonly [Series, ...Series[]],
): AsyncGenerator<string> {
  const { meter, commodity } = series[0]
  const paths = pathsOf([profile.database, wanted.clientId], series[0])
  const own = bills.filter((bill) => bill.meter === meter && bill.commodity === commodity)
  const point = { paths, commodity, zone, visible: spanOf(series), hasBills: own.length > 0 }
  yield lines([usagePointEntry({ ...point, isHeld: meters.get(meter) ?? false })])
  for (const one of series) {
    const written = openSeries(paths, one)
    yield lines(written.entries)
    for (const days of partsOf(one)) {
      await beforePart?.()
      const part = { ...wanted, ...days }
      const costs = await readCosts(store, part, { ...one, bills: own })
      for (const day of await readDays(store, part, one)) {
        yield lines([blockEntry({ ...written, costs }, day, zone)])
      }
    }
  }
  yield lines(own.map((bill) => summaryEntry(paths, bill, zone)))
}

const lines = (entries: readonly Xml[]) => entries.map(({ xml }) => `${xml}\n`).join('')

/** Days of a series that are read at once: some 300 kB, with reads of 15 minutes. */
const daysAtOnce = 32

/** The days of a series, so many at once: what is kept while a reader is slow does not grow with them. */
function partsOf({ from, to }: Series) {
  const parts: { readonly from: string; readonly to: string }[] = []
  for (let at = from; at <= to; at = addDays(at, daysAtOnce)) {
    const last = addDays(at, daysAtOnce - 1)
    parts.push({ from: at, to: last < to ? last : to })
  }
  return parts
}

/** Series come ordered by meter and commodity. */
function byMeter(series: readonly Series[]): readonly (readonly Series[])[] {
  const groups = new Map<string, Series[]>()
  for (const one of series) {
    const key = JSON.stringify([one.meter, one.commodity])
    groups.set(key, [...(groups.get(key) ?? []), one])
  }
  return [...groups.values()]
}

function spanOf(series: readonly Series[]): { readonly first: number; readonly last: number } {
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

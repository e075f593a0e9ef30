import { dayAt, type Zone } from '../../schemas/time/zone.js'
import type { HoldRow, TenancyRow } from '../customers/stored-tenancies.js'
import { compareTexts } from '../customers/tenants.js'
import type { UsageChange } from './announced.js'

/**
 * What differs between the tenancies of some meters before and after: nothing but the rows in memory
 * is looked at. Of a hold without an end all days that the store can have are listed as one range. A hold that
 * becomes longer gives all its reads another number, so all its days are listed: reads that came meanwhile
 * have had none, and who follows the numbers of files is past theirs.
 */
export function changesBetween(
  before: readonly TenancyRow[],
  after: readonly TenancyRow[],
  zone: Zone,
): readonly UsageChange[] {
  const old = bySite(before)
  const sites = bySite(after)
  const keys = [...new Set([...old.keys(), ...sites.keys()])]
  return keys.flatMap((key) => compareSite(old.get(key) ?? [], sites.get(key) ?? [], zone))
}

function bySite(rows: readonly TenancyRow[]): ReadonlyMap<string, readonly TenancyRow[]> {
  const sites = new Map<string, TenancyRow[]>()
  for (const row of rows) {
    const key = JSON.stringify([row.meter_id, row.external_site_id])
    const site = sites.get(key)
    if (site === undefined) sites.set(key, [row])
    else site.push(row)
  }
  return sites
}

/** The first day that the store can hold. */
const firstDay = '1970-01-01'

/** Reads under one account in a time, and what a client sees of them. */
interface Segment {
  readonly account: string
  readonly from: string
  readonly to: string
  readonly clients: readonly string[]
  readonly codes: string
  /** The change that gives its reads their number. */
  readonly change: string
}

function compareSite(
  before: readonly TenancyRow[],
  after: readonly TenancyRow[],
  zone: Zone,
): readonly UsageChange[] {
  if (seenText(before) === seenText(after)) return []
  const meterId = [...before, ...after][0]?.meter_id ?? ''
  const [old, fresh] = [before.flatMap(segmentsOf), after.flatMap(segmentsOf)]
  const accounts = [...new Set([...old, ...fresh].map(({ account }) => account))]
  const changes = accounts.flatMap((account) => {
    const own = (segments: readonly Segment[]) => segments.filter((one) => one.account === account)
    return compareAccount(own(old), own(fresh))
  })
  const rows = changes.map(({ from, to, clients, clientsBefore, cause }): UsageChange => {
    return {
      meter_id: meterId,
      local_day: laterOf(firstDay, dayAt(zone, instantOf(from, 0))),
      last_local_day: dayAt(zone, instantOf(to, -1)),
      client_ids_before: clientsBefore,
      client_ids_after: clients,
      cause,
    }
  })
  // Reads under an account and those without one may change alike.
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
}

function seenText(rows: readonly TenancyRow[]): string {
  return JSON.stringify(
    rows
      .flatMap(segmentsOf)
      .map((one) => JSON.stringify(one))
      .sort(compareTexts),
  )
}

/** A hold is cut where a code changes; the first codes hold for all time before. */
function segmentsOf({ holds, codes }: TenancyRow): readonly Segment[] {
  return holds.flatMap((hold) =>
    codes.flatMap(({ held_from, ...entry }, at) => {
      const from = at === 0 ? hold.held_from : laterOf(hold.held_from, held_from)
      const to = earlierOf(hold.held_to, codes[at + 1]?.held_from ?? hold.held_to)
      return from < to ? [toSegment(hold, { from, to, codes: JSON.stringify(entry) })] : []
    }),
  )
}

function toSegment(hold: HoldRow, span: Pick<Segment, 'from' | 'to' | 'codes'>): Segment {
  const { account_number: account, client_ids: clients, change } = hold
  return { account, clients, change, ...span }
}

interface Difference extends Pick<Segment, 'from' | 'to' | 'clients'> {
  readonly clientsBefore: readonly string[]
  readonly cause: UsageChange['cause']
}

function compareAccount(
  before: readonly Segment[],
  after: readonly Segment[],
): readonly Difference[] {
  const cuts = [...new Set([...before, ...after].flatMap(({ from, to }) => [from, to]))].sort()
  const differences: Difference[] = []
  for (const [at, from] of cuts.entries()) {
    const to = cuts[at + 1]
    if (to === undefined) break
    const within = (segments: readonly Segment[]) =>
      segments.find((one) => one.from <= from && one.to >= to)
    const [old, fresh] = [within(before), within(after)]
    const clientsBefore = old?.clients ?? []
    const clients = fresh?.clients ?? []
    const isSame = clientsBefore.join('\n') === clients.join('\n')
    const hasCodes = (old?.codes ?? '') === (fresh?.codes ?? '')
    if (isSame && hasCodes && (fresh === undefined || old?.change === fresh.change)) continue
    const cause = isSame && !hasCodes ? 'cost' : 'ownership'
    const last = differences.at(-1)
    const isNext =
      last?.to === from &&
      JSON.stringify([last.clientsBefore, last.clients, last.cause]) ===
        JSON.stringify([clientsBefore, clients, cause])
    if (isNext) differences.pop()
    differences.push({ from: isNext ? last.from : from, to, clients, clientsBefore, cause })
  }
  return differences
}

function earlierOf(a: string, b: string): string {
  return a < b ? a : b
}

function laterOf(a: string, b: string): string {
  return a > b ? a : b
}

/** Of `2026-03-01 05:00:00`, UTC, shifted by seconds. */
function instantOf(text: string, seconds: number): Date {
  return new Date(Date.parse(`${text.replace(' ', 'T')}Z`) + seconds * 1_000)
}

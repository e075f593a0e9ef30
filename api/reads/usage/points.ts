import { setImmediate as turn } from 'node:timers/promises'
import type { LineName } from '../../../pipeline/store/own/bills.js'
import type { CostRow } from '../../../pipeline/store/own/costs.js'
import { qualities } from '../../../pipeline/store/own/reads.js'
import { groupBy } from '../../../schemas/lists/group-by.js'
import { formatQuantity, formatScaled } from '../../../schemas/quantity.js'
import { wallSeconds, type Zone } from '../../../schemas/time/zone.js'
import { intersect, type Span, secondsOf } from '../range.js'
import type { Buckets, PointRow } from './rows.js'

/** A point of an answer: epoch seconds of its start, and its JSON text. */
export interface Point {
  readonly start: number
  text(): string
}

export interface PointsWanted extends Buckets {
  /** Where reads are expected: elsewhere nothing is missing. */
  readonly expected: readonly Span[]
  /** The local day that has not ended: none of its reads are expected yet. */
  readonly today: string
  readonly pointsMax: number
}

/** What a point has. A gap has no rows. */
interface Draft {
  readonly at: number
  readonly upto: number
  readonly isAhead: boolean
  readonly unit: string | undefined
  readonly rows: readonly PointRow[]
  readonly missing: number
}

/**
 * The points of rows, and of the gaps between them. A gap of intervals is one point, however long; other gaps
 * are divided where a bucket starts.
 */
export function pointsOf(rows: readonly PointRow[], wanted: PointsWanted): readonly Point[] {
  const isCut = wanted.granularity !== 'interval'
  const starts = wanted.buckets.map(([start]) => start)
  const drafts: Draft[] = []
  let before = 0
  const addGaps = (upto: number) => {
    for (const gap of intersect(wanted.expected, before < upto ? [[before, upto]] : [])) {
      for (const [start, end] of isCut ? cut(gap, starts) : [gap]) {
        const missing = end - start
        drafts.push({ at: start, upto: end, isAhead: false, unit: undefined, rows: [], missing })
      }
    }
  }
  for (const draft of draftsOf(rows, wanted)) {
    drafts.push(draft)
    // A gap may begin before the projected rest of a bill and last into it.
    if (draft.isAhead) continue
    addGaps(draft.at)
    before = Math.max(before, draft.upto)
  }
  addGaps(Number.POSITIVE_INFINITY)
  return drafts
    .sort(
      (a, b) =>
        a.at - b.at || Number(a.isAhead) - Number(b.isAhead) || compareUnits(a.unit, b.unit),
    )
    .slice(0, wanted.pointsMax)
    .map((draft) => ({ start: draft.at, text: () => textOf(draft, wanted.zone) }))
}

/** Points for each turn of the event loop: some milliseconds of it. */
const pointsATurn = 200

/** The points as one JSON text. Logins that wait are answered in between. */
export async function toText(points: readonly Point[]): Promise<string> {
  const texts: string[] = []
  for (const [at, point] of points.entries()) {
    if (at > 0 && at % pointsATurn === 0) await turn()
    texts.push(point.text())
  }
  return texts.join(',')
}

function cut([start, end]: Span, starts: readonly number[]): readonly Span[] {
  const places = [start, ...starts.filter((at) => at > start && at < end), end]
  return places.slice(1).map((to, at): Span => [places[at] as number, to])
}

function compareUnits(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0
  if (a === undefined) return 1
  return b === undefined || a < b ? -1 : 1
}

/** Rows of one start and unit, in order. What has no unit of its own goes with the reads beside it. */
function draftsOf(rows: readonly PointRow[], wanted: PointsWanted): readonly Draft[] {
  return groupBy(rows, ({ at, isAhead }) => 2 * at + Number(isAhead))
    .flatMap((own) => byUnit(own, wanted))
    .sort((a, b) => a.at - b.at || compareUnits(a.unit, b.unit))
}

/** What is missing is said once, however many units there are: by the last one. */
function byUnit(rows: readonly PointRow[], wanted: PointsWanted): readonly Draft[] {
  const named = [...new Set(rows.map(({ unit }) => unit))].filter((unit) => unit !== undefined)
  const units = named.length === 0 ? [undefined] : named.sort(compareUnits)
  const [{ at, isAhead }] = rows as [PointRow]
  const drafts = units.map((unit, place) => {
    const isLast = place === units.length - 1
    const own = rows.filter((row) => row.unit === unit || (isLast && row.unit === undefined))
    const read = own.filter(({ reads }) => reads > 0)
    const upto = (read.length > 0 ? read : own).reduce((max, row) => Math.max(max, row.upto), 0)
    return { at, upto, isAhead, unit, rows: own, missing: 0 }
  })
  const upto = drafts.reduce((max, draft) => Math.max(max, draft.upto), 0)
  const missing = isAhead ? 0 : missingOf(rows, [at, upto], wanted)
  return drafts.map((draft, place) => (place === drafts.length - 1 ? { ...draft, missing } : draft))
}

/** Seconds in which reads are expected and are not there. A read of an interval misses none. */
function missingOf(
  rows: readonly PointRow[],
  [at, upto]: Span,
  { granularity, expected, today }: PointsWanted,
): number {
  if (granularity === 'interval' && rows.some(({ reads }) => reads > 0)) return 0
  const wanted = intersect(expected, at < upto ? [[at, upto]] : [])
  const past = rows.filter(({ day }) => day < today)
  // Reads of two units on one day are of the same time.
  const present = groupBy(past, ({ day }) => day).map((ofDay) =>
    Math.max(
      ...groupBy(ofDay, ({ unit = '' }) => unit).map((own) => sumOf(own, (row) => row.present)),
    ),
  )
  return Math.max(0, secondsOf(wanted) - present.reduce((sum, seconds) => sum + seconds, 0))
}

const sumOf = (rows: readonly PointRow[], numberOf: (row: PointRow) => number) =>
  rows.reduce((sum, row) => sum + numberOf(row), 0)

export const isoSeconds = (at: number) => new Date(at * 1_000).toISOString().replace('.000', '')

/** An instant as the clock of a zone shows it, with its offset. */
function local(at: number, zone: Zone): string {
  const wall = wallSeconds(zone.toWall(at))
  const minutes = Math.abs(wall - at) / 60
  const two = (value: number) => String(Math.trunc(value)).padStart(2, '0')
  const offset = `${wall < at ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
  return `${new Date(wall * 1_000).toISOString().slice(0, 19)}${offset}`
}

/** Numbers are written as they are: a double would not hold them all. */
function textOf({ at, upto, isAhead, unit, rows, missing }: Draft, zone: Zone): string {
  const billed: CostRow[] = []
  let [reads, worst, nanos, micros] = [0, 0, 0n, 0n]
  let [hasQuantity, hasCost] = [false, false]
  for (const row of rows) {
    reads += row.reads
    worst = Math.max(worst, row.quality)
    hasQuantity ||= row.nanos !== undefined
    nanos += row.nanos ?? 0n
    if (row.cost === undefined) continue
    billed.push(row.cost)
    hasCost ||= row.cost.costs.length > 0
    for (const cost of row.cost.costs) micros += cost
  }
  const found = missing > 0 ? 'partial' : qualities[worst - 1]
  const quality = isAhead ? 'projected' : reads === 0 ? 'missing' : found
  const quantity = hasQuantity ? formatScaled(nanos, 9) : null
  const cost = hasCost ? formatQuantity(micros) : null
  return `{"start":"${isoSeconds(at)}","end":"${isoSeconds(upto)}","localStart":"${local(at, zone)}","quantity":${quantity},"unit":${JSON.stringify(unit ?? null)},"quality":"${quality}","reads":${reads},"secondsMissing":${missing},"cost":${cost},"costStatus":"${statusOf(rows, billed)}","costs":[${linesOf(billed)}]}`
}

/** Days that no bill has make it `noBill`; else a status that explains a lack of costs comes first. */
function statusOf(rows: readonly PointRow[], billed: readonly CostRow[]): string {
  const days = new Set(billed.map(({ day }) => day))
  if (!rows.every(({ day }) => days.has(day))) return 'noBill'
  const rank = ({ costs, status }: CostRow) =>
    `${costs.length > 0 ? 1 : 0}${status === 'computed' ? 1 : 0}${status}`
  return (
    billed.reduce<CostRow | undefined>(
      (first, one) => (first === undefined || rank(one) < rank(first) ? one : first),
      undefined,
    )?.status ?? 'noBill'
  )
}

const rounding: LineName = ['Rounding', '', 'Rounding', 0]

/** What each line cost, in order of its name; lines that cost nothing are left out. */
function linesOf(billed: readonly CostRow[]): string {
  const sums = new Map<string, { readonly name: LineName; cost: bigint }>()
  for (const { lines, costs } of billed) {
    for (const [at, cost] of costs.entries()) {
      if (cost === 0n) continue
      const name = lines[at] ?? rounding
      const key = name.join('\n')
      const sum = sums.get(key)
      if (sum === undefined) sums.set(key, { name, cost })
      else sum.cost += cost
    }
  }
  return [...sums]
    .filter(([, { cost }]) => cost !== 0n)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { name, cost }]) => `${nameText(name)},"cost":${formatQuantity(cost)}}`)
    .join(',')
}

const nameTexts = new WeakMap<LineName, string>()

/** A line's name as the beginning of a JSON object. The points of a bill have the same names. */
function nameText(line: LineName): string {
  const [kind, component, name, tier] = line
  const text = nameTexts.get(line) ?? JSON.stringify({ kind, component, name, tier }).slice(0, -1)
  nameTexts.set(line, text)
  return text
}

import type { Commodity } from '../../schemas/feed.js'
import { trimBlanks } from '../../schemas/field.js'
import type { RowFormat } from '../../schemas/manifest.js'
import { timesOf } from '../../schemas/settings/profile.js'
import { readTimestamp, type TimestampRules } from '../../schemas/time/read-timestamp.js'
import { detectFormat, isDayFormat, type TimestampFormat } from '../../schemas/time/timestamp.js'
import { daySeconds } from '../../schemas/time/zone.js'
import type { PipelineContext } from '../context.js'
import { parseRow } from '../files/csv.js'
import { splitRows } from '../files/rows.js'
import type { LoadTask } from '../kind.js'

/** What the first rows of a file show of all of them. */
export interface Sample {
  /** The format that most of its timestamps have; null where none has one. */
  readonly format: TimestampFormat | null
  /** Smallest gap between two timestamps of one meter that is a length; seconds, 86400 for days. */
  readonly seconds: number
}

export interface SampleOptions {
  /** Those of the profile, seconds. */
  readonly lengths: readonly number[]
  /** How many columns behind those of the feed are ignored. */
  readonly extraColumns?: number | undefined
  /** Whether each row states its length in the column behind those of the feed. */
  readonly stated?: boolean | undefined
}

/** So much of a file, behind its header, is its sample. */
export const sampleBytes = 262_144
/** A clock changes by two hours at most: days have 22 to 26 hours. */
const dayGapMin = daySeconds - 7_200

/**
 * Finds the timestamp format and the interval length of a file in its first rows. A meter's real
 * length is looked at again when the whole file is there. The first length of the profile is taken where
 * the sample shows none of them. Timestamps at the end of an interval are never
 * read as days at first: the start of the day would no longer distinguish them.
 */
export function sampleFile(
  head: Buffer,
  rules: Omit<TimestampRules, 'format' | 'seconds'>,
  { lengths, extraColumns = 0, stated = false }: SampleOptions,
): Sample {
  const fallback = lengths[0] as number
  const rows = [...wholeRows(head, extraColumns)]
  const format = mostFrequent(rows.map((row) => detectFormat(row.timestamp)))
  if (format === undefined) return { format: null, seconds: fallback }
  if (stated) {
    const usual = mostFrequent(rows.map((row) => row.seconds || undefined))
    return { format, seconds: usual ?? fallback }
  }
  if (isDayFormat(format)) return { format, seconds: daySeconds }
  const starts = new Map<string, number[]>()
  const start: TimestampRules = { ...rules, stamp: 'start', format, seconds: fallback }
  for (const { meter, timestamp } of rows) {
    const found = readTimestamp(timestamp, start)
    if (typeof found === 'string') continue
    const known = starts.get(meter)
    if (known === undefined) starts.set(meter, [found[0] as number])
    else known.push(found[0] as number)
  }
  const gaps = [...starts.values()].map((one) => toLength(smallestGap(one)))
  const shortest = Math.min(...gaps.filter((gap) => lengths.includes(gap)))
  const seconds = Number.isFinite(shortest) ? shortest : fallback
  if (rules.stamp === 'start' || seconds !== daySeconds) return { format, seconds }
  return { format, seconds: lengths.find((length) => length !== daySeconds) ?? hourSeconds }
}

const hourSeconds = 3_600

/** The nominal length of a gap: a local day is one, whether or not the clock changes in it. */
export function toLength(gapSeconds: number): number {
  const isDay = gapSeconds >= dayGapMin && gapSeconds <= 2 * daySeconds - dayGapMin
  return isDay ? daySeconds : gapSeconds
}

function* wholeRows(
  head: Buffer,
  extraColumns: number,
): Generator<{ meter: string; timestamp: string; seconds: number }> {
  const sample = head.subarray(0, sampleBytes)
  const whole = head.length < sampleBytes ? sample.length : sample.lastIndexOf(10) + 1
  for (const { raw } of splitRows(sample.subarray(0, whole), 1)) {
    const fields = parseRow(raw)
    if (fields?.length !== 5 + extraColumns) continue
    const [, , meter = '', timestamp = '', , seconds] = fields
    yield {
      meter: trimBlanks(meter),
      timestamp: trimBlanks(timestamp),
      seconds: Number(seconds ?? 0),
    }
  }
}

function mostFrequent<T>(values: readonly (T | undefined)[]): T | undefined {
  const counts = new Map<T, number>()
  for (const value of values) {
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const most = Math.max(...counts.values())
  return [...counts].find(([, count]) => count === most)?.[0]
}

function smallestGap(starts: readonly number[]): number {
  const sorted = [...new Set(starts)].sort((a, b) => a - b)
  const gaps = sorted.slice(1).map((start, at) => start - (sorted[at] as number))
  return gaps.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...gaps)
}

/** How the rows of a usage file are to be judged: the profile's rules and what is known of the file. */
export function rulesOf(
  context: Pick<PipelineContext, 'profile' | 'zone'>,
  task: Pick<LoadTask, 'feed'> & RowFormat,
) {
  const { usage, limits } = context.profile
  return {
    ...usage,
    ...timesOf(context.profile, task),
    commodity: task.feed as Commodity,
    zone: context.zone,
    seconds: task.seconds,
    startsMax: task.startsMax,
    extraColumns: task.extraColumns,
    format: task.format ?? undefined,
    rowBytesMax: limits.rowBytesMax,
  }
}

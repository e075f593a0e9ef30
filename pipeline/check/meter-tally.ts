import { intervalEnd, intervalStart } from '../../schemas/time/read-timestamp.js'
import type { Zone } from '../../schemas/time/zone.js'
import { meterLength } from '../usage/lengths.js'
import type { Closest } from '../usage/rekey.js'
import { lineSlot, microsSlot, ownerSlot, recordSlots, startSlot } from './read-record.js'

export interface TallyRules {
  readonly zone: Zone
  /** Where stamps say when intervals end: the length by which their starts were found, seconds. */
  readonly endsAfter: number | undefined
  /** The lengths that the profile names for the feed, seconds. */
  readonly allowed: readonly number[]
  /** The length of a meter with a single start. */
  readonly single: number
  /** So many lines of rows without a usable length are kept, the first ones. */
  readonly linesMax: number
}

interface Counts {
  readonly rows: number
  readonly micros: bigint
}

/** What becomes of rows that are usable one by one. Instants are epoch seconds. */
export interface MeterTally {
  readonly meters: number
  readonly read: Counts
  readonly duplicate: Counts
  readonly superseded: Counts
  /** Rows of meters whose length the profile does not name, and how many meters that are. */
  readonly rejected: Counts
  readonly rejectedMeters: number
  /** The first of those rows, by their lines. */
  readonly rejectedLines: readonly RejectedLine[]
  readonly firstStart: number
  readonly lastEnd: number
}

/** A row whose meter has no usable length. */
export interface RejectedLine {
  readonly line: number
  /** What shows it of the meter. */
  readonly closest: Closest
}

const none: Counts = { rows: 0, micros: 0n }

const emptyTally: MeterTally = {
  meters: 0,
  read: none,
  duplicate: none,
  superseded: none,
  rejected: none,
  rejectedMeters: 0,
  rejectedLines: [],
  firstStart: Number.POSITIVE_INFINITY,
  lastEnd: 0,
}

/**
 * Counts the rows of a file by outcome, from its records in order: the length of each
 * meter is its smallest gap (decision 16), the last row of a key survives (decision 22).
 */
export async function tallyMeters(
  blocks: AsyncIterable<Uint32Array>,
  rules: TallyRules,
): Promise<MeterTally> {
  let tally = emptyTally
  let meter = createMeter(rules.linesMax)
  for await (const block of blocks) {
    const quantities = new BigInt64Array(block.buffer, block.byteOffset, block.length / 2)
    for (let at = 0; at < block.length; at += recordSlots) {
      if (!meter.has(block, at)) {
        tally = addMeter(tally, meter.found(), rules)
        meter = createMeter(rules.linesMax)
      }
      meter.add(block, at, quantities[at / 2 + microsSlot] as bigint)
    }
  }
  return addMeter(tally, meter.found(), rules)
}

/** What the rows of one meter show. */
interface MeterFound {
  readonly read: Counts
  readonly duplicate: Counts
  readonly superseded: Counts
  readonly closest: Closest
  readonly firstStart: number
  readonly lastStart: number
  readonly lines: readonly number[]
}

function createMeter(linesMax: number) {
  const name = new Uint32Array(startSlot)
  const owner = new Uint32Array(2)
  const read = { rows: 0, micros: 0n }
  const duplicate = { rows: 0, micros: 0n }
  const superseded = { rows: 0, micros: 0n }
  const lines = createFirstLines(linesMax)
  let closest: Closest = { gap: 0, lines: [0, 0] }
  let lastLine = 0
  let firstStart = 0
  let lastStart = 0
  let survivor = 0n
  return {
    /** Whether a record is of this meter, which is that of its first record. */
    has: (records: Uint32Array, at: number): boolean => {
      if (read.rows === 0) return true
      for (let slot = 0; slot < startSlot; slot++) {
        if (name[slot] !== records[at + slot]) return false
      }
      return true
    },
    add: (records: Uint32Array, at: number, micros: bigint): void => {
      const start = records[at + startSlot] as number
      const line = records[at + lineSlot] as number
      lines.add(line)
      if (read.rows === 0) {
        for (let slot = 0; slot < startSlot; slot++) name[slot] = records[at + slot] as number
        firstStart = start
      }
      if (read.rows === 0 || start !== lastStart) {
        const gap = start - lastStart
        if (read.rows > 0 && (closest.gap === 0 || gap < closest.gap)) {
          closest = { gap, lines: [lastLine, line] }
        }
        lastStart = start
        lastLine = line
        survivor = micros
        owner[0] = records[at + ownerSlot] as number
        owner[1] = records[at + ownerSlot + 1] as number
      } else {
        const isSame =
          micros === survivor &&
          owner[0] === records[at + ownerSlot] &&
          owner[1] === records[at + ownerSlot + 1]
        const counts = isSame ? duplicate : superseded
        counts.rows++
        counts.micros += micros
      }
      read.rows++
      read.micros += micros
    },
    found: (): MeterFound => {
      const counted = { read, duplicate, superseded }
      return { ...counted, closest, firstStart, lastStart, lines: lines.ascending() }
    },
  }
}

/** Keeps the least of the lines that it is given. */
function createFirstLines(linesMax: number) {
  const lines: number[] = []
  return {
    add: (line: number): void => {
      if (lines.length === linesMax && line > (lines.at(-1) ?? 0)) return
      let at = lines.length
      while (at > 0 && (lines[at - 1] as number) > line) at--
      lines.splice(at, 0, line)
      if (lines.length > linesMax) lines.pop()
    },
    ascending: (): readonly number[] => lines,
  }
}

function addMeter(tally: MeterTally, meter: MeterFound, rules: TallyRules): MeterTally {
  if (meter.read.rows === 0) return tally
  const { closest } = meter
  const seconds = meterLength(closest.gap, rules)
  if (seconds === 0) {
    const own = meter.lines.map((line): RejectedLine => ({ line, closest }))
    const lines = [...tally.rejectedLines, ...own].sort((a, b) => a.line - b.line)
    return {
      ...tally,
      rejected: addCounts(tally.rejected, meter.read),
      rejectedMeters: tally.rejectedMeters + 1,
      rejectedLines: lines.slice(0, rules.linesMax),
    }
  }
  const { zone, endsAfter } = rules
  const moved = (start: number) =>
    endsAfter === undefined ? start : intervalStart(start + endsAfter, seconds, zone)
  return {
    ...tally,
    meters: tally.meters + 1,
    read: addCounts(tally.read, meter.read),
    duplicate: addCounts(tally.duplicate, meter.duplicate),
    superseded: addCounts(tally.superseded, meter.superseded),
    firstStart: Math.min(tally.firstStart, moved(meter.firstStart)),
    lastEnd: Math.max(tally.lastEnd, intervalEnd(moved(meter.lastStart), seconds, zone)),
  }
}

function addCounts(one: Counts, other: Counts): Counts {
  return { rows: one.rows + other.rows, micros: one.micros + other.micros }
}

import { numberedMeters } from '../../infra/demo/customers.js'
import { draw } from '../../infra/demo/draw.js'
import type { UsageOptions } from '../../infra/demo/usage-rows.js'

/** How a file goes in. `resting` has no done-file: it is taken when it has stood still. */
export type Way = 'inbox' | 'resting' | 'hand-over'

/** A file as the seed has it, before it is written. */
export interface PlannedFile {
  readonly name: string
  readonly way: Way
  readonly usage: UsageOptions
  /** Files of one family hold the same meters and days; the one that arrived last counts. */
  readonly family: number
  /** Send the very same file a second time, the other way. */
  readonly isRepeated: boolean
}

const streams = { feed: 1, meters: 2, month: 3, way: 4, flaws: 5, gzip: 6, repeat: 7 } as const
const metersApart = 1_000
const years = 10
const monthsAYear = 12
const correctionEvery = 4

/** A zone whose clock never changes: every slot of the calendar is a row of its own. */
export const chaosZone = 'America/Phoenix'

/**
 * The file of a number: three months of a handful of meters, electric or gas, plain or gzip, some
 * with unusable rows, every fourth a correction of the file before it.
 */
export function planFile(seed: number, index: number): PlannedFile {
  const isCorrection = index % correctionEvery === correctionEvery - 1
  const family = isCorrection ? index - 1 : index
  const isCorrected = (index + 1) % correctionEvery === correctionEvery - 1
  const pick = (count: number, stream: number, at: number) => draw(seed, stream, at) % count
  const isGas = pick(4, streams.feed, family) === 0
  const month = pick(years * monthsAYear, streams.month, family)
  const first = family * metersApart
  const count = isGas
    ? 150 + pick(350, streams.meters, family)
    : 4 + pick(10, streams.meters, family)
  const spoils = !isCorrection && !isCorrected && pick(3, streams.flaws, index) === 0
  const ways = ['inbox', 'resting', 'hand-over'] as const
  const ending = pick(2, streams.gzip, index) === 0 ? '.csv' : '.csv.gz'
  return {
    name: `CHAOS_01012026_${isGas ? 'Gas' : 'Electric'}_${index}${ending}`,
    way: ways[pick(ways.length, streams.way, index)] ?? 'inbox',
    family,
    isRepeated: !isCorrection && !isCorrected && pick(6, streams.repeat, index) === 0,
    usage: {
      meters: numberedMeters(count, first),
      seed: draw(seed, index, 0),
      firstDay: firstOf(month),
      days: 92,
      intervalSeconds: isGas ? 86_400 : 900,
      zone: chaosZone,
      ...(isGas && { shape: 'gas' }),
      badShare: spoils ? 0.004 : 0,
    },
  }
}

function firstOf(month: number): string {
  const year = 2_015 + Math.floor(month / monthsAYear)
  return `${year}-${String((month % monthsAYear) + 1).padStart(2, '0')}-01`
}

import { numberedMeters } from '../../infra/demo/customers.js'
import { draw } from '../../infra/demo/draw.js'
import type { UsageOptions } from '../../infra/demo/usage-rows.js'

/** How a file goes in. `resting` has no done-file: it is taken when it has stood still. */
export type Way = 'inbox' | 'resting' | 'submit' | 'sftp' | 's3'

/** A file as the seed has it, before it is written. */
export interface PlannedFile {
  readonly name: string
  readonly way: Way
  readonly usage: UsageOptions
  /** Files of one family hold the same meters and days; the one that arrived last counts. */
  readonly family: number
  /** Which correction of the family's first file it is; 0 for none. */
  readonly correction: number
  /** Says which rows stand twice. */
  readonly twinSeed: number
  /** Send the very same file a second time, the other way. */
  readonly isRepeated: boolean
}

const streams = { feed: 1, meters: 2, month: 3, way: 4, flaws: 5, gzip: 6, repeat: 7 } as const
const metersApart = 1_000
const years = 10
const monthsAYear = 12
/** A file of its own, one that is corrected, two corrections, and the same bytes by another name. */
const roundLength = 5
const corrections = [0, 0, 1, 2, 0] as const

/** A zone whose clock never changes: every slot of the calendar is a row of its own. */
export const chaosZone = 'America/Phoenix'

/**
 * The file of a number: three months of a handful of meters, electric or gas, plain or gzip, some
 * with unusable rows. Of five files one stands alone; the others are a family: a file, two
 * corrections of some of its reads, and its bytes once more under another name.
 */
export function planFile(seed: number, index: number): PlannedFile {
  const member = index % roundLength
  const family = member === 0 ? index : index - member + 1
  const pick = (count: number, stream: number, at: number) => draw(seed, stream, at) % count
  const isGas = pick(4, streams.feed, family) === 0
  const month = pick(years * monthsAYear, streams.month, family)
  const first = family * metersApart
  const count = isGas
    ? 100 + pick(150, streams.meters, family)
    : 4 + pick(3, streams.meters, family)
  const spoils = member === 0 && pick(2, streams.flaws, index) === 0
  const ways = ['inbox', 'resting', 'submit', 'sftp', 's3'] as const
  const ending = pick(2, streams.gzip, index) === 0 ? '.csv' : '.csv.gz'
  const correction = corrections[member] ?? 0
  return {
    name: `CHAOS_01012026_${isGas ? 'Gas' : 'Electric'}_${index}${ending}`,
    way: ways[pick(ways.length, streams.way, index)] ?? 'inbox',
    family,
    correction,
    twinSeed: draw(seed, family, 1 + correction),
    isRepeated: pick(6, streams.repeat, index) === 0,
    usage: {
      meters: numberedMeters(count, first),
      seed: draw(seed, family, 0),
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

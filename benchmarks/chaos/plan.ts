import { numberedMeters } from '../../infra/demo/customers.js'
import { draw } from '../../infra/demo/draw.js'
import type { UsageOptions } from '../../infra/demo/usage-rows.js'

/**
 * How a file goes in. `resting` has no done-file: it is taken when it has stood still. `push` sends its
 * rows, from which the intake makes a file.
 */
export type Way = 'inbox' | 'resting' | 'submit' | 'sftp' | 's3' | 'push'

/** A file as the seed has it, before it is written. */
export interface PlannedFile {
  readonly name: string
  readonly way: Way
  readonly usage: UsageOptions
  /** Files of one family hold the same meters and days; the one that arrived last counts. */
  readonly family: number
  /** Which correction of the family's first file it is; 0 for none. */
  readonly correction: number
  /** Whether it holds the corrected reads and the one behind each, instead of all. */
  readonly isSparse: boolean
  /** Says which rows stand twice. */
  readonly twinSeed: number
  /** Send the very same file a second time, the other way. */
  readonly isRepeated: boolean
}

const streams = { feed: 1, meters: 2, month: 3, way: 4, flaws: 5, gzip: 6, repeat: 7 } as const
const metersApart = 1_000
const years = 10
const daysUsual = 92
const monthsAYear = 12
/** A file of its own; one that is corrected, two corrections, the same bytes by another name, and pushed rows. */
const corrections = [0, 0, 1, 2, 0, 3] as const
const roundLength = corrections.length
const sparseMember = 5

/** A zone whose clock never changes: every slot of the calendar is a row of its own. */
export const chaosZone = 'America/Phoenix'

/**
 * The file of a number: some days, by default three months, of a handful of meters, electric or gas,
 * plain or gzip, some with unusable rows. Of six files one stands alone; the others are a family: a
 * file, two corrections of some of its reads, its bytes once more under another name, and some reads
 * alone.
 */
export function planFile(seed: number, index: number, days = daysUsual): PlannedFile {
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
  const isSparse = member === sparseMember
  const ending = isSparse || pick(2, streams.gzip, index) === 0 ? '.csv' : '.csv.gz'
  const correction = corrections[member] ?? 0
  return {
    name: `CHAOS_01012026_${isGas ? 'Gas' : 'Electric'}_${index}${ending}`,
    way: isSparse ? 'push' : (ways[pick(ways.length, streams.way, index)] ?? 'inbox'),
    family,
    correction,
    isSparse,
    twinSeed: draw(seed, family, 1 + correction),
    isRepeated: !isSparse && pick(6, streams.repeat, index) === 0,
    usage: {
      meters: numberedMeters(count, first),
      seed: draw(seed, family, 0),
      firstDay: firstOf(month),
      days,
      intervalSeconds: isGas ? 86_400 : 900,
      zone: chaosZone,
      ...(isGas && { shape: 'gas' }),
      badShare: spoils ? 0.004 : 0,
    },
  }
}

/** The files that hold all reads of a file's family: the first, and its corrections. */
export function wholeFilesOf(seed: number, file: PlannedFile): readonly PlannedFile[] {
  const member = (at: number) => planFile(seed, file.family + at, file.usage.days)
  return corrections.slice(1, sparseMember - 1).map((_, at) => member(at))
}

function firstOf(month: number): string {
  const year = 2_015 + Math.floor(month / monthsAYear)
  return `${year}-${String((month % monthsAYear) + 1).padStart(2, '0')}-01`
}

import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { finished, pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { MeterReference } from './customers.js'
import {
  drawUse,
  type Flaw,
  flawAt,
  lineOf,
  quantityMilli,
  type Slot,
  type UsageOptions,
  usageHeader,
  usageSlots,
} from './usage-rows.js'

/** Exact counts of a written file. Quantities are in millionths of a unit. */
export interface UsageTally {
  readonly rows: number
  readonly bytes: number
  readonly rowsBad: number
  /** Of the rows without a flaw. */
  readonly quantityMicro: bigint
  /** Of the rows with a flaw whose fifth column, TotalUnit, is a number. */
  readonly quantityBadMicro: bigint
}

type MutableTally = { -readonly [K in keyof UsageTally]: UsageTally[K] }

const blockBytes = 4 * 1024 * 1024
/** The most bytes of quantity and flaw after the meter's part and the timestamp of a row. */
const rowRestBytesMax = 32

/**
 * Writes a usage file at several million rows a second in constant memory; gzip if the name ends in
 * `.gz`. Resolves with the exact tally when all bytes are written.
 */
export async function usageFile(path: string, options: UsageOptions): Promise<UsageTally> {
  const tally = emptyTally()
  const output = createWriteStream(path, { highWaterMark: 2 * blockBytes })
  if (path.endsWith('.gz')) {
    await pipeline(usageBlocks(options, tally), createGzip({ level: 1 }), output)
    return tally
  }
  for (const block of usageBlocks(options, tally)) {
    if (!output.write(block)) await once(output, 'drain')
  }
  output.end()
  await finished(output)
  return tally
}

function emptyTally(): MutableTally {
  return { rows: 0, bytes: 0, rowsBad: 0, quantityMicro: 0n, quantityBadMicro: 0n }
}

/** The file's bytes in blocks of about 4 MiB; each block is a new buffer. */
function* usageBlocks(options: UsageOptions, tally: MutableTally): Generator<Buffer> {
  const slots = usageSlots(options)
  const stamps = slots.map((slot) => Buffer.from(`${slot.stamp},`))
  const stampBytesMax = Math.max(...stamps.map((stamp) => stamp.length), 0)
  let block = Buffer.allocUnsafe(blockBytes)
  let used = block.write(`${usageHeader}\n`)
  for (const [index, meter] of options.meters.entries()) {
    const part = Buffer.from(`${meter.accountNumber},${meter.externalSiteId},${meter.meterId},`)
    const meterBytesMax = slots.length * (part.length + stampBytesMax + rowRestBytesMax)
    if (used + meterBytesMax > block.length) {
      tally.bytes += used
      yield block.subarray(0, used)
      block = Buffer.allocUnsafe(Math.max(blockBytes, meterBytesMax))
      used = 0
    }
    used = writeMeter({ block, used, part, stamps, slots, index, meter, options }, tally)
  }
  tally.bytes += used
  yield block.subarray(0, used)
}

interface MeterRun {
  readonly block: Buffer
  readonly used: number
  readonly part: Buffer
  readonly stamps: readonly Buffer[]
  readonly slots: readonly Slot[]
  readonly index: number
  readonly meter: MeterReference
  readonly options: UsageOptions
}

/** Writes all rows of one meter. The sums of one meter stay far below 2^53. */
function writeMeter(run: MeterRun, tally: MutableTally): number {
  const { block, part, stamps, slots, index, options } = run
  const { seed } = options
  const spoils = (options.badShare ?? 0) > 0
  let at = run.used
  let milliGood = 0
  for (let position = 0; position < slots.length; position++) {
    const slot = slots[position] as Slot
    const milli = quantityMilli(drawUse(seed, index, position), slot.peakMilli)
    const flaw = spoils ? flawAt(options, index, position) : undefined
    if (flaw !== undefined) {
      at += block.write(`${lineOf({ ...run.meter, stamp: slot.stamp, flaw }, milli)}\n`, at)
      tally.rowsBad++
      if (hasQuantity(flaw)) tally.quantityBadMicro += BigInt(milli) * 1_000n
      continue
    }
    at = copy(part, block, at)
    at = copy(stamps[position] as Buffer, block, at)
    at = writeMilli(milli, block, at)
    milliGood += milli
  }
  tally.rows += slots.length
  tally.quantityMicro += BigInt(milliGood) * 1_000n
  return at
}

/** For a few dozen bytes a loop is faster than Buffer.copy, which calls into C++. */
function copy(from: Buffer, to: Buffer, at: number): number {
  let target = at
  for (let index = 0; index < from.length; index++) to[target++] = from[index] as number
  return target
}

/** Writes a decimal with three places and a line feed. */
function writeMilli(milli: number, block: Buffer, at: number): number {
  let units = (milli / 1_000) | 0
  const rest = milli - units * 1_000
  let digits = 1
  for (let power = 10; power <= units; power *= 10) digits++
  let target = at + digits
  for (let place = target - 1; place >= at; place--) {
    block[place] = 48 + (units % 10)
    units = (units / 10) | 0
  }
  block[target++] = 46
  block[target++] = 48 + ((rest / 100) | 0)
  block[target++] = 48 + (((rest / 10) | 0) % 10)
  block[target++] = 48 + (rest % 10)
  block[target++] = 10
  return target
}

function hasQuantity(flaw: Flaw): boolean {
  return flaw !== 'quantityUnreadable' && flaw !== 'columnsTooMany' && flaw !== 'columnsTooFew'
}

import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
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

/**
 * Writes a usage file at over a million rows a second in constant memory; gzip if the name ends in
 * `.gz`. Resolves with the exact tally when all bytes are written.
 */
export async function usageFile(path: string, options: UsageOptions): Promise<UsageTally> {
  const tally = { rows: 0, bytes: 0, rowsBad: 0, quantityMicro: 0n, quantityBadMicro: 0n }
  const blocks = usageBlocks(options, tally)
  const output = createWriteStream(path, { highWaterMark: 2 * blockBytes })
  if (path.endsWith('.gz')) await pipeline(blocks, createGzip({ level: 1 }), output)
  else await pipeline(blocks, output)
  return tally
}

/** The file's bytes in blocks of about 4 MiB. */
function* usageBlocks(options: UsageOptions, tally: MutableTally): Generator<Buffer> {
  const slots = usageSlots(options)
  let block = `${usageHeader}\n`
  for (let index = 0; index <= options.meters.length; index++) {
    if (block.length >= blockBytes || index === options.meters.length) {
      tally.bytes += block.length
      yield Buffer.from(block, 'latin1')
      block = ''
    }
    if (index < options.meters.length) block += rowsOf(options, { index, slots }, tally)
  }
}

/** All rows of one meter. The sums of one meter stay far below 2^53. */
function rowsOf(
  options: UsageOptions,
  { index, slots }: { readonly index: number; readonly slots: readonly Slot[] },
  tally: MutableTally,
): string {
  const meter = options.meters[index] as MeterReference
  const part = `${meter.accountNumber},${meter.externalSiteId},${meter.meterId},`
  const spoils = (options.badShare ?? 0) > 0
  let rows = ''
  let milliGood = 0
  for (const [position, slot] of slots.entries()) {
    const milli = quantityMilli(drawUse(options.seed, index, position), slot.peakMilli)
    const flaw = spoils ? flawAt(options, index, position) : undefined
    if (flaw === undefined) {
      rows += `${part}${slot.stamp},${quantityText(milli)}\n`
      milliGood += milli
    } else {
      rows += `${lineOf({ ...meter, stamp: slot.stamp, flaw }, milli)}\n`
      tally.rowsBad++
      if (hasQuantity(flaw)) tally.quantityBadMicro += BigInt(milli) * 1_000n
    }
  }
  tally.rows += slots.length
  tally.quantityMicro += BigInt(milliGood) * 1_000n
  return rows
}

const quantityTexts: string[] = []

/** Few quantities occur, so each text is made once. */
function quantityText(milli: number): string {
  quantityTexts[milli] ??= (milli / 1_000).toFixed(3)
  return quantityTexts[milli]
}

/** Whether the fifth and last column of a spoilt row reads as a number. */
export function hasQuantity(flaw: Flaw): boolean {
  return flaw !== 'quantityUnreadable' && flaw !== 'columnsTooMany' && flaw !== 'columnsTooFew'
}

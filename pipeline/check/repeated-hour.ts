import {
  heldMicros,
  lineSlot,
  microsSlot,
  ownerSlot,
  type ReadRecord,
  recordSlots,
  startSlot,
} from './read-record.js'
import type { RecordSorter } from './record-sorter.js'

/**
 * Gives the rows of the repeated hour their starts: of a meter's rows with one timestamp the first
 * in the file is daylight time, every later one standard time (decision 15); a rejected row holds
 * its place among them.
 */
export async function placeRepeats(
  repeats: RecordSorter,
  reads: RecordSorter,
  secondStarts: ReadonlyMap<number, number>,
): Promise<void> {
  let later: ReadRecord | undefined
  const put = async (record: ReadRecord, start: number) => {
    if (record.micros === heldMicros) return
    reads.add({ ...record, start })
    if (reads.isFull()) await reads.spill()
  }
  for await (const block of repeats.sorted()) {
    for (const record of readRecords(block)) {
      if (later !== undefined) {
        const isFirst = !isSameKey(later, record)
        await put(later, isFirst ? later.start : (secondStarts.get(later.start) as number))
      }
      later = record
    }
  }
  if (later !== undefined) await put(later, later.start)
}

/** The records come with the last line first. */
function* readRecords(block: Uint32Array): Generator<ReadRecord> {
  const quantities = new BigInt64Array(block.buffer, block.byteOffset, block.length / 2)
  for (let at = 0; at < block.length; at += recordSlots) {
    yield {
      meter: block.slice(at, at + startSlot),
      start: block[at + startSlot] as number,
      line: block[at + lineSlot] as number,
      owner: block.slice(at + ownerSlot, at + ownerSlot + 2),
      micros: quantities[at / 2 + microsSlot] as bigint,
    }
  }
}

function isSameKey(one: ReadRecord, other: ReadRecord): boolean {
  return (
    one.start === other.start && one.meter.every((number, slot) => number === other.meter[slot])
  )
}

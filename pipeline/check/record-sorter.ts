import type { FileHandle } from 'node:fs/promises'
import { openTempFile } from '../files/temp-file.js'
import { attempt, writeAll } from '../sources/disk.js'
import {
  compareRecords,
  lineSlot,
  microsSlot,
  ownerSlot,
  type ReadRecord,
  recordSlots,
  startSlot,
} from './read-record.js'
import { mergeRuns, type Run } from './record-merge.js'

/** Sorts records in bounded memory, see `compareRecords`. */
export interface RecordSorter {
  /** Whether `spill` must come next. */
  isFull(): boolean
  add(record: ReadRecord): void
  /** Sorts what is in memory and writes it away. */
  spill(): Promise<void>
  /** All records in order, as blocks that are only valid until the next one. */
  sorted(): AsyncGenerator<Uint32Array>
  close(): Promise<void>
}

export interface SorterOptions {
  /** Where records go that memory does not hold, in a file without a name. */
  readonly folder: string
  /** Records in memory, at most 2^20, which are 42 MB. */
  readonly recordsMax: number
}

const recordsFirst = 1_024
const blockRecords = 8_192
/** A record's place in memory stands below the first number of its meter in a sort key. */
const placeSpan = 2 ** 20

/** An external merge sort: memory is `recordsMax` records, whatever comes in. */
export function createRecordSorter({ folder, recordsMax }: SorterOptions): RecordSorter {
  let records = new Uint32Array(Math.min(recordsFirst, recordsMax) * recordSlots)
  let quantities = new BigInt64Array(records.buffer)
  let count = 0
  let file: FileHandle | undefined
  const runs: Run[] = []

  const resize = (size: number) => {
    const larger = new Uint32Array(size * recordSlots)
    larger.set(records.subarray(0, larger.length))
    records = larger
    quantities = new BigInt64Array(records.buffer)
  }
  const spill = async () => {
    if (count === 0) return
    file ??= await openTempFile(folder)
    const from = runs.at(-1)?.to ?? 0
    let to = from
    for (const block of sortedBlocks(records, count)) {
      const bytes = new Uint8Array(block.buffer, block.byteOffset, block.byteLength)
      await attempt(folder, () => writeAll(file as FileHandle, bytes, to))
      to += bytes.length
    }
    runs.push({ from, to })
    count = 0
  }
  return {
    isFull: () => count === recordsMax,
    add: (record) => {
      if ((count + 1) * recordSlots > records.length) resize(Math.min(count * 2, recordsMax))
      const at = count * recordSlots
      for (let slot = 0; slot < startSlot; slot++) records[at + slot] = record.meter[slot] as number
      records[at + startSlot] = record.start
      records[at + lineSlot] = record.line
      records[at + ownerSlot] = record.owner[0] as number
      records[at + ownerSlot + 1] = record.owner[1] as number
      quantities[at / 2 + microsSlot] = record.micros
      count++
    },
    spill,
    sorted: async function* () {
      if (file === undefined) return yield* sortedBlocks(records, count)
      await spill()
      resize(0)
      yield* mergeRuns(file, runs)
    },
    close: async () => file?.close(),
  }
}

function* sortedBlocks(records: Uint32Array, count: number): Generator<Uint32Array> {
  const block = new Uint32Array(Math.min(blockRecords, count) * recordSlots)
  let used = 0
  for (const place of sortedPlaces(records, count)) {
    const from = place * recordSlots
    for (let slot = 0; slot < recordSlots; slot++) {
      block[used + slot] = records[from + slot] as number
    }
    used += recordSlots
    if (used < block.length) continue
    yield block
    used = 0
  }
  if (used > 0) yield block.subarray(0, used)
}

/**
 * The places of the first `count` records in their order. Most differ in the first number
 * of their meter, which the engine sorts as plain numbers; the rows of a meter mostly come in order.
 */
function sortedPlaces(records: Uint32Array, count: number): Uint32Array {
  const keys = new Float64Array(count)
  for (let place = 0; place < count; place++) {
    keys[place] = (records[place * recordSlots] as number) * placeSpan + place
  }
  keys.sort()
  const places = Uint32Array.from(keys, (key) => key % placeSpan)
  const placed = (at: number) => (places[at] as number) * recordSlots
  for (let from = 0; from < count; ) {
    let isSorted = true
    let to = from + 1
    for (; to < count && records[placed(to)] === records[placed(from)]; to++) {
      if (!isSorted) continue
      isSorted = compareRecords(records, placed(to - 1), { records, at: placed(to) }) <= 0
    }
    if (!isSorted) {
      places
        .subarray(from, to)
        .sort((a, b) => compareRecords(records, a * recordSlots, { records, at: b * recordSlots }))
    }
    from = to
  }
  return places
}

import type { FileHandle } from 'node:fs/promises'
import { toFileFault } from '../sources/disk.js'
import { compareRecords, recordSlots } from './read-record.js'

/** Sorted records in a file, from byte to byte. */
export interface Run {
  readonly from: number
  readonly to: number
}

const recordBytes = recordSlots * 4
const blockRecords = 8_192
/** Of all runs together; a run has at least one record in memory. */
const mergeBytes = 16 * 1_048_576

interface Cursor {
  readonly records: Uint32Array
  /** The record that is next. */
  at: number
  /** Behind the records that are in memory. */
  end: number
  position: number
  readonly to: number
}

/** The records of all runs in one order, in blocks that are only valid until the next one. */
export async function* mergeRuns(
  file: FileHandle,
  runs: readonly Run[],
): AsyncGenerator<Uint32Array> {
  const perRun = Math.max(1, Math.floor(mergeBytes / recordBytes / runs.length))
  const heap: Cursor[] = []
  for (const { from, to } of runs) {
    const records = new Uint32Array(Math.min(perRun, (to - from) / recordBytes) * recordSlots)
    const cursor = { records, at: 0, end: 0, position: from, to }
    if (await fill(file, cursor)) heap.push(cursor)
  }
  for (let at = heap.length >> 1; at >= 0; at--) sink(heap, at)
  const block = new Uint32Array(blockRecords * recordSlots)
  let used = 0
  for (let top = heap[0]; top !== undefined; top = heap[0]) {
    for (let slot = 0; slot < recordSlots; slot++) {
      block[used + slot] = top.records[top.at + slot] as number
    }
    used += recordSlots
    top.at += recordSlots
    if (top.at === top.end && !(await fill(file, top))) {
      const last = heap.pop() as Cursor
      if (heap.length > 0) heap[0] = last
    }
    sink(heap, 0)
    if (used < block.length) continue
    yield block
    used = 0
  }
  if (used > 0) yield block.subarray(0, used)
}

/** Reads on in a run; false where it has ended. */
async function fill(file: FileHandle, cursor: Cursor): Promise<boolean> {
  const wanted = Math.min(cursor.records.byteLength, cursor.to - cursor.position)
  const bytes = new Uint8Array(cursor.records.buffer)
  for (let read = 0; read < wanted; ) {
    const { bytesRead } = await file
      .read(bytes, read, wanted - read, cursor.position + read)
      .catch((error: unknown) => Promise.reject(toFileFault('the temporary folder', error)))
    if (bytesRead === 0) throw new Error('a run of records is shorter than it was written')
    read += bytesRead
  }
  cursor.position += wanted
  cursor.at = 0
  cursor.end = wanted / 4
  return wanted > 0
}

/** Lets a cursor sink to its place in the heap, of which the least is at 0. */
function sink(heap: Cursor[], from: number): void {
  for (let at = from; ; ) {
    const left = 2 * at + 1
    let least = at
    if (isBefore(heap[left], heap[least])) least = left
    if (isBefore(heap[left + 1], heap[least])) least = left + 1
    if (least === at) return
    const moved = heap[at] as Cursor
    heap[at] = heap[least] as Cursor
    heap[least] = moved
    at = least
  }
}

function isBefore(one: Cursor | undefined, other: Cursor | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return compareRecords(one.records, one.at, other) < 0
}

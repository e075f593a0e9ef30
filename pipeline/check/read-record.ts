import { hash } from 'node:crypto'

/**
 * What of a usable row decides what becomes of it, in a fixed size: 40 bytes. Hashes represent the
 * names; two meters of one file share one of 128 bits with a chance of less than 1 in 10^24.
 */
export interface ReadRecord {
  /** Four numbers of 32 bits. */
  readonly meter: Uint32Array
  /** Epoch seconds. */
  readonly start: number
  readonly line: number
  /** Account and site, two numbers of 32 bits. */
  readonly owner: Uint32Array
  readonly micros: bigint
}

/** Numbers of 32 bits in a record: meter 4, start, line, owner 2, quantity 2. */
export const recordSlots = 10
export const startSlot = 4
export const lineSlot = 5
export const ownerSlot = 6
/** Place of the quantity in a record that is seen as numbers of 64 bits. */
export const microsSlot = 4

/** The quantity of a record that only holds a place in the repeated hour; no row has it. */
export const heldMicros = -(2n ** 63n)

export interface RecordPlace {
  readonly records: Uint32Array
  readonly at: number
}

/** By meter, then start, then line, the last line first: the first record of a key survives. */
export function compareRecords(records: Uint32Array, at: number, other: RecordPlace): number {
  for (let slot = 0; slot <= startSlot; slot++) {
    const difference = (records[at + slot] as number) - (other.records[other.at + slot] as number)
    if (difference !== 0) return difference
  }
  return (other.records[other.at + lineSlot] as number) - (records[at + lineSlot] as number)
}

/** The hashes of a row's names. */
export interface Names {
  readonly meter: Uint32Array
  readonly owner: Uint32Array
}

export interface NamedRow {
  readonly accountNumber: string
  readonly externalSiteId: string
  readonly meterId: string
}

const namesSlots = startSlot + 2
const rememberedMax = 100_000

/**
 * Hashes names and remembers those of the latest rows, in 24 bytes each in addition to their text. What it
 * returns is valid until the next call.
 */
export function createNameHasher(): (row: NamedRow) => Names {
  const known = new Map<string, number>()
  const hashes = new Uint32Array(rememberedMax * namesSlots)
  const names = { meter: new Uint32Array(startSlot), owner: new Uint32Array(2) }
  return ({ accountNumber, externalSiteId, meterId }) => {
    // A file holds no NUL: it is refused before.
    const owner = `${accountNumber}\0${externalSiteId}`
    const text = `${owner}\0${meterId}`
    let at = known.get(text)
    if (at === undefined) {
      if (known.size === rememberedMax) known.clear()
      at = known.size * namesSlots
      hashes.set(hashOf(meterId, startSlot), at)
      hashes.set(hashOf(owner, 2), at + startSlot)
      known.set(text, at)
    }
    for (let slot = 0; slot < startSlot; slot++) names.meter[slot] = hashes[at + slot] as number
    names.owner[0] = hashes[at + startSlot] as number
    names.owner[1] = hashes[at + startSlot + 1] as number
    return names
  }
}

function hashOf(text: string, numbers: number): Uint32Array {
  const digest = hash('sha256', text, 'buffer')
  return Uint32Array.from({ length: numbers }, (_, index) => digest.readUInt32LE(index * 4))
}

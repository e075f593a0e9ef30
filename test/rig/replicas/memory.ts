import { openSync, readFileSync, readSync, writeSync } from 'node:fs'

/** A range of this process's memory, with the file that it maps, if any. */
export interface Region {
  readonly from: number
  readonly to: number
  readonly access: string
  readonly file: string
}

/** Reads and writes the memory of this process by address. */
export interface Memory {
  regions(): readonly Region[]
  /** Fewer bytes, or none, where no memory is mapped. */
  read(at: number, bytes: number): Buffer
  write(at: number, data: Buffer): void
  /** Addresses of all occurrences within the regions. */
  find(regions: readonly Region[], needle: Buffer): readonly number[]
}

const stepBytes = 16 * 1024 ** 2
const mapping = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+\s*(.*)$/

export function openMemory(): Memory {
  const file = openSync('/proc/self/mem', 'r+')
  const read = (at: number, bytes: number): Buffer => {
    const buffer = Buffer.alloc(bytes)
    try {
      return buffer.subarray(0, readSync(file, buffer, 0, bytes, at))
    } catch {
      return Buffer.alloc(0)
    }
  }
  return {
    regions: () =>
      readFileSync('/proc/self/maps', 'latin1')
        .split('\n')
        .flatMap((line) => {
          const [, from, to, access = '', path = ''] = mapping.exec(line) ?? []
          if (from === undefined || to === undefined) return []
          return [{ from: Number(`0x${from}`), to: Number(`0x${to}`), access, file: path }]
        }),
    read,
    write: (at, data) => void writeSync(file, data, 0, data.length, at),
    find: (regions, needle) => regions.flatMap((region) => findIn(read, region, needle)),
  }
}

function findIn(read: Memory['read'], { from, to }: Region, needle: Buffer): readonly number[] {
  const found: number[] = []
  for (let at = from; at < to; at += stepBytes) {
    const bytes = read(at, Math.min(stepBytes + needle.length - 1, to - at))
    for (let hit = bytes.indexOf(needle); hit >= 0; hit = bytes.indexOf(needle, hit + 1)) {
      found.push(at + hit)
    }
  }
  return found
}

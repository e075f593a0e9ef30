import { crc32, deflateRawSync } from 'node:zlib'

/** One file of a zip and what its headers say; any of it may be a lie. */
export interface ZipPart {
  readonly name: string
  readonly bytes: Buffer
  readonly method?: number
  readonly flags?: number
  readonly crc?: number
  readonly size?: number
  /** The Unix mode, in the upper half of the external attributes. */
  readonly mode?: number
  readonly localName?: string
}

/** A zip as PKWARE's APPNOTE 6.3 has it, deflated unless a part's method says otherwise. */
export function zipOf(...parts: readonly ZipPart[]): Buffer {
  const files: Buffer[] = []
  const entries: Buffer[] = []
  let offset = 0
  for (const part of parts) {
    const data = (part.method ?? 8) === 8 ? deflateRawSync(part.bytes) : part.bytes
    const localName = Buffer.from(part.localName ?? part.name)
    const name = Buffer.from(part.name)
    const local = [u32(0x04034b50), described(part, data), u16(localName.length, 0), localName]
    const file = Buffer.concat([...local, data])
    const mode = Math.trunc(part.mode ?? 0o100644)
    const tail = u16(name.length, 0, 0, 0, 0, 0, mode)
    entries.push(
      Buffer.concat([u32(0x02014b50), u16((3 << 8) | 20), described(part, data), tail]),
      Buffer.concat([u32(offset), name]),
    )
    files.push(file)
    offset += file.length
  }
  const directory = Buffer.concat(entries)
  const counts = u16(0, 0, parts.length, parts.length)
  const end = [u32(0x06054b50), counts, u32(directory.length, offset), u16(0)]
  return Buffer.concat([...files, directory, ...end])
}

/** Version, flags, method, time, date, checksum, both sizes: alike in both headers. */
function described(part: ZipPart, data: Buffer): Buffer {
  const size = part.size ?? part.bytes.length
  return Buffer.concat([
    u16(20, part.flags ?? 0, part.method ?? 8, 0, 0),
    u32(part.crc ?? crc32(part.bytes), data.length, size),
  ])
}

function u16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16LE(value, index * 2)
  return bytes
}

function u32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value >>> 0, index * 4)
  return bytes
}

import type { FileHandle } from 'node:fs/promises'
import { pipeline, type Readable } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl'
import { Fault } from '../../schemas/fault.js'
import { attempt, toFileFault } from '../sources/disk.js'
import { openTempFile } from './temp-file.js'

export interface UnzipOptions {
  /** Where the archive is stored while it is read: its directory is at its end. */
  readonly folder: string
  /** Maximum of unpacked bytes. */
  readonly fileBytesMax: number
}

/**
 * The bytes of the one file in a zip. The archive is stored first, in an unlinked temporary file.
 * Anything but one plain `.csv` is refused as `ARCHIVE` with what was found; so are encryption, unknown
 * methods, bytes outside the file, and a wrong size or checksum. Errors of the input pass through.
 */
export async function* unzip(
  input: AsyncIterable<Buffer>,
  options: UnzipOptions,
): AsyncGenerator<Buffer> {
  const { folder } = options
  const file = await openTempFile(folder)
  try {
    for await (const bytes of input) await attempt(folder, () => file.writeFile(bytes))
    const packed = await findEntry(file)
    if (packed.entry.uncompressedSize > options.fileBytesMax) {
      throw new Fault(
        'FILE_TOO_LARGE',
        `the zip unpacks to ${packed.entry.uncompressedSize} bytes, limits.fileBytesMax is ${options.fileBytesMax}; split it, or raise the limit`,
      )
    }
    yield* unpack(file, packed)
  } finally {
    await file.close()
  }
}

interface Packed {
  readonly entry: Entry
  /** Of the first packed byte. */
  readonly start: number
}

async function findEntry(file: FileHandle): Promise<Packed> {
  try {
    const zip = await fromFdPromise(file.fd, { strictFileNames: true, autoClose: false })
    const entry = await onlyEntry(zip)
    const local = await zip.readLocalFileHeaderPromise(entry)
    if (!local.fileName.equals(entry.fileNameRaw)) throw refusal('it has two names for its file')
    if (local.compressionMethod !== entry.compressionMethod) {
      throw refusal('it has two compression methods for its file')
    }
    return { entry, start: local.fileDataStart }
  } catch (error) {
    throw toArchiveFault(error)
  }
}

async function onlyEntry(zip: ZipFile): Promise<Entry> {
  if (zip.entryCount !== 1) throw refusal(`it contains ${zip.entryCount} files`)
  for await (const entry of zip.eachEntry()) {
    const wrong = wrongWith(entry)
    if (wrong !== undefined) throw refusal(wrong)
    return entry
  }
  throw refusal('it does not contain a file')
}

const plainName = /^[^./\\\p{C}][^/\\\p{C}]*\.csv$/iu
const unix = 3
const regularFile = 0o10
const stored = 0
const deflated = 8

function wrongWith(entry: Entry): string | undefined {
  const { fileName, externalFileAttributes, relativeOffsetOfLocalHeader } = entry
  if (!plainName.test(fileName)) {
    const shown = JSON.stringify(fileName.slice(0, 100)).replace(/\p{C}/gu, '?')
    return `its file is named ${shown}, not <name>.csv without a path`
  }
  const kind = entry.versionMadeBy >> 8 === unix ? externalFileAttributes >>> 28 : 0
  if (kind !== 0 && kind !== regularFile) return 'it contains a link or folder instead of a file'
  if (entry.isEncrypted()) return 'it is encrypted'
  if (entry.compressionMethod !== stored && entry.compressionMethod !== deflated) {
    return `its compression method is ${entry.compressionMethod}; use deflate`
  }
  if (relativeOffsetOfLocalHeader > 0) {
    return `it begins with ${relativeOffsetOfLocalHeader} bytes that are not part of a file`
  }
  return undefined
}

const readBytes = 1 << 20

async function* unpack(file: FileHandle, { entry, start }: Packed): AsyncGenerator<Buffer> {
  const { compressedSize, compressionMethod, uncompressedSize } = entry
  let bytesOut = 0
  let sum = 0
  if (compressedSize > 0) {
    const end = start + compressedSize - 1
    const packed = file.createReadStream({ start, end, autoClose: false, highWaterMark: readBytes })
    const bytes = compressionMethod === stored ? packed : inflated(packed)
    try {
      for await (const piece of bytes as AsyncIterable<Buffer>) {
        bytesOut += piece.length
        sum = crc32(piece, sum)
        if (bytesOut > uncompressedSize) break
        yield piece
      }
    } catch (error) {
      throw toArchiveFault(error)
    } finally {
      packed.destroy()
      bytes.destroy()
    }
  }
  if (bytesOut !== uncompressedSize) {
    throw refusal(`it declares ${uncompressedSize} bytes and contains ${bytesOut} or more`)
  }
  if (sum !== entry.crc32) throw refusal('its checksum does not match')
}

function inflated(packed: Readable): Readable {
  const unpacked = createInflateRaw({ chunkSize: readBytes })
  return pipeline(packed, unpacked, () => undefined)
}

function refusal(found: string, cause?: unknown): Fault {
  return new Fault(
    'ARCHIVE',
    `the zip is refused: ${found.replace(/\.$/, '')}; zip one file again`,
    { cause },
  )
}

/** What the library reports about the bytes; errors of the operating system keep their fault. */
function toArchiveFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  const { message, syscall } = error as NodeJS.ErrnoException
  return syscall === undefined ? refusal(message, error) : toFileFault('the zip', error)
}

import type { FileHandle } from 'node:fs/promises'
import { pipeline, type Readable } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'
import { type Entry, fromFdPromise, type ZipFile } from 'yauzl'
import { Fault } from '../../schemas/fault.js'
import { attempt, toFault } from '../sources/disk.js'
import { openNameless } from './temp-file.js'

export interface UnzipOptions {
  /** Where the archive lies while it is read: its directory stands at its end. */
  readonly folder: string
  /** Bytes unpacked, at most. */
  readonly bytesMax: number
}

/**
 * The bytes of the one file in a zip. The archive is written down first, in a file that has no name
 * any more and so is gone whatever happens. Anything but one plain `.csv` is refused as `ARCHIVE`
 * with what was found; so are encryption, unknown methods, bytes that belong to no file, and a wrong
 * size or checksum. Errors of the input itself pass through.
 */
export async function* unzip(
  input: AsyncIterable<Buffer>,
  options: UnzipOptions,
): AsyncGenerator<Buffer> {
  const { folder } = options
  const file = await openNameless(folder)
  try {
    for await (const bytes of input) await attempt(folder, () => file.writeFile(bytes))
    const packed = await findEntry(file)
    if (packed.entry.uncompressedSize > options.bytesMax) {
      throw new Fault(
        'FILE_TOO_LARGE',
        `the zip unpacks to ${packed.entry.uncompressedSize} bytes, limits.fileBytesMax is ${options.bytesMax}; split it, or raise the limit`,
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
    if (!local.fileName.equals(entry.fileNameRaw)) throw refusal('it names its file in two ways')
    if (local.compressionMethod !== entry.compressionMethod) {
      throw refusal('it names two methods for its file')
    }
    return { entry, start: local.fileDataStart }
  } catch (error) {
    throw toArchiveFault(error)
  }
}

async function onlyEntry(zip: ZipFile): Promise<Entry> {
  if (zip.entryCount !== 1) throw refusal(`it holds ${zip.entryCount} files`)
  for await (const entry of zip.eachEntry()) {
    const wrong = wrongWith(entry)
    if (wrong !== undefined) throw refusal(wrong)
    return entry
  }
  throw refusal('it holds no file')
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
    return `its file is called ${shown}, not <name>.csv without a path`
  }
  const kind = entry.versionMadeBy >> 8 === unix ? externalFileAttributes >>> 28 : 0
  if (kind !== 0 && kind !== regularFile) return 'it holds a link or folder instead of a file'
  if (entry.isEncrypted()) return 'it is encrypted'
  if (entry.compressionMethod !== stored && entry.compressionMethod !== deflated) {
    return `it is packed with method ${entry.compressionMethod}; deflate is taken`
  }
  if (relativeOffsetOfLocalHeader > 0) {
    return `${relativeOffsetOfLocalHeader} bytes that belong to no file stand at its start`
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
    throw refusal(`it announces ${uncompressedSize} bytes and holds ${bytesOut} or more`)
  }
  if (sum !== entry.crc32) throw refusal('its checksum does not fit its bytes')
}

function inflated(packed: Readable): Readable {
  const unpacked = createInflateRaw({ chunkSize: readBytes })
  return pipeline(packed, unpacked, () => undefined)
}

function refusal(found: string, cause?: unknown): Fault {
  return new Fault(
    'ARCHIVE',
    `the zip is not taken: ${found.replace(/\.$/, '')}; pack one file again`,
    { cause },
  )
}

/** What the library found wrong with the bytes; what the operating system refuses stays that. */
function toArchiveFault(error: unknown): Fault {
  if (error instanceof Fault) return error
  const { message, syscall } = error as NodeJS.ErrnoException
  return syscall === undefined ? refusal(message, error) : toFault('the zip', error)
}

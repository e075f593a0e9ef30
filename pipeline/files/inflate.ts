import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Fault } from '../../schemas/fault.js'
import { type UnzipOptions, unzip } from './zip.js'

export interface InflateOptions extends UnzipOptions {
  readonly compression: 'none' | 'gzip' | 'zip'
  /** Maximum of bytes out for each byte in. */
  readonly ratioMax: number
}

/** Smaller output is not a bomb, whatever its ratio. */
const harmlessBytes = 16 * 1_048_576

/**
 * The unpacked bytes of a file. Throws `ARCHIVE` for a broken or truncated archive, `RATIO` for a
 * compression ratio above the limit, `FILE_TOO_LARGE` above the size limit; errors of the input pass
 * through. A buffer is valid until the next is read.
 */
export async function* inflate(
  input: AsyncIterable<Buffer>,
  options: InflateOptions,
): AsyncGenerator<Buffer> {
  if (options.compression === 'none') {
    yield* limited(input, { ...options, bytesIn: () => Number.POSITIVE_INFINITY })
    return
  }
  let bytesIn = 0
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const bytes of input) {
      bytesIn += bytes.length
      yield Buffer.from(bytes)
    }
  }
  const unpacked = options.compression === 'zip' ? unzip(counted(), options) : gunzip(counted())
  yield* limited(unpacked, { ...options, bytesIn: () => bytesIn })
}

async function* gunzip(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytesIn = 0
  let failure: unknown
  async function* counted(): AsyncGenerator<Buffer> {
    try {
      for await (const bytes of input) {
        bytesIn += bytes.length
        yield bytes
      }
    } catch (error) {
      failure = error
      throw error
    }
  }
  const unpacked = createGunzip({ chunkSize: 1 << 20 })
  const source = Readable.from(counted())
  source.on('error', (error) => unpacked.destroy(error))
  source.pipe(unpacked)
  try {
    yield* unpacked as AsyncIterable<Buffer>
  } catch (error) {
    if (failure !== undefined) throw failure
    throw new Fault(
      'ARCHIVE',
      `the gzip is broken or truncated (${(error as Error).message}); compress it again`,
      { cause: error },
    )
  } finally {
    source.destroy()
    unpacked.destroy()
  }
  if (unpacked.bytesWritten < bytesIn) {
    const extra = bytesIn - unpacked.bytesWritten
    throw new Fault(
      'ARCHIVE',
      `${extra} bytes that are not gzip follow the archive; compress it again`,
    )
  }
}

async function* limited(
  input: AsyncIterable<Buffer>,
  limits: InflateOptions & { readonly bytesIn: () => number },
): AsyncGenerator<Buffer> {
  let bytesOut = 0
  for await (const bytes of input) {
    bytesOut += bytes.length
    if (bytesOut > limits.fileBytesMax) {
      throw new Fault(
        'FILE_TOO_LARGE',
        `more than ${limits.fileBytesMax} bytes (limits.fileBytesMax); split it, or raise the limit`,
      )
    }
    const ratio = bytesOut / Math.max(1, limits.bytesIn())
    if (bytesOut > harmlessBytes && ratio > limits.ratioMax) {
      throw new Fault(
        'RATIO',
        `unpacks to more than ${limits.ratioMax} times its size (limits.ratioMax); send it unpacked, or raise the limit`,
      )
    }
    yield bytes
  }
}

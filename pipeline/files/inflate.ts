import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Fault } from '../../schemas/fault.js'
import { unzip } from './zip.js'

export interface InflateOptions {
  readonly compression: 'none' | 'gzip' | 'zip'
  readonly bytesMax: number
  /** Bytes out for each byte in, at most. */
  readonly ratioMax: number
  /** Where a zip may lie while it is read. */
  readonly folder: string
}

/** Below this nothing is a bomb, however well it packs. */
const harmlessBytes = 16 * 1_048_576

/**
 * The bytes of a file unpacked. Broken or cut archives are `ARCHIVE`, too much of a growth is
 * `RATIO`, too much altogether `FILE_TOO_LARGE`; errors of the input itself pass through.
 * A piece of an unpacked file is good until the next is asked for.
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
      `the gzip is broken or cut short (${(error as Error).message}); pack it again`,
      { cause: error },
    )
  } finally {
    source.destroy()
    unpacked.destroy()
  }
  if (unpacked.bytesWritten < bytesIn) {
    const extra = bytesIn - unpacked.bytesWritten
    throw new Fault('ARCHIVE', `${extra} bytes that are no gzip follow the archive; pack it again`)
  }
}

async function* limited(
  input: AsyncIterable<Buffer>,
  limits: InflateOptions & { readonly bytesIn: () => number },
): AsyncGenerator<Buffer> {
  let bytesOut = 0
  for await (const bytes of input) {
    bytesOut += bytes.length
    if (bytesOut > limits.bytesMax) {
      throw new Fault(
        'FILE_TOO_LARGE',
        `more than ${limits.bytesMax} bytes (limits.fileBytesMax); split it, or raise the limit`,
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

import { closeSync, createReadStream, openSync, rmSync, writeSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { headerOf } from './call.js'
import { type Exception, exceptionOf } from './exception.js'

/** A request body: in memory if small, otherwise in a file of the spool folder. */
export interface Body {
  readonly head: Buffer
  readonly path: string | undefined
  /** Name of the compression in the engine's COMPRESSION clause. */
  readonly compression: string
  remove(): void
}

const memoryBytesMax = 1024 * 1024
const queryBytesMax = 64 * 1024 * 1024

/** The engine's names of HTTP content codings. */
const codings: Readonly<Record<string, string>> = {
  identity: 'none',
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
  zstd: 'zstd',
  lz4: 'lz4',
}

type Unpack = (packed: Buffer, limits: { readonly maxOutputLength: number }) => Promise<Buffer>

const unpackers: Readonly<Record<string, Unpack>> = {
  none: async (packed) => packed,
  gzip: promisify(gunzip) as Unpack,
  deflate: promisify(inflate) as Unpack,
  br: promisify(brotliDecompress) as Unpack,
}

let spoolCount = 0

/**
 * Receives a complete body without unpacking it; above 1 MB it is written to a file. Throws if the
 * client disconnects early, so that an incomplete body is never stored, and above `bytesMax`.
 */
export async function receiveBody(
  request: IncomingMessage,
  folder: string,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<Body> {
  const compression = compressionOf(request)
  const chunks: Buffer[] = []
  let bytes = 0
  let file: { readonly path: string; readonly fd: number } | undefined
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw tooLarge(`A reader's statement may have ${bytesMax} bytes`)
      if (file === undefined && bytes > memoryBytesMax) {
        const path = join(folder, `${process.pid}-${spoolCount++}`)
        file = { path, fd: openSync(path, 'wx', 0o600) }
        for (const early of chunks.splice(0)) writeWhole(file.fd, early)
      }
      if (file === undefined) chunks.push(chunk)
      else writeWhole(file.fd, chunk)
    }
    if (!request.complete) throw exceptionOf('INCORRECT_DATA', 'The request body was cut off')
  } catch (error) {
    if (file !== undefined) rmSync(file.path, { force: true })
    throw error
  } finally {
    if (file !== undefined) closeSync(file.fd)
  }
  return createBody(Buffer.concat(chunks), file?.path, compression)
}

/**
 * The decompressed body, for queries and multipart forms. Unpacking stops at the limit: a small body may
 * unpack to more than the memory of the machine.
 */
export async function textOf(body: Body, bytesMax = queryBytesMax): Promise<Buffer> {
  const unpack = unpackers[body.compression]
  if (unpack === undefined) {
    throw exceptionOf('UNKNOWN_COMPRESSION_METHOD', `A query cannot come as ${body.compression}`)
  }
  const packed = body.path === undefined ? body.head : await readUpTo(body.path, queryBytesMax)
  return unpack(packed, { maxOutputLength: bytesMax }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw tooLarge(`A query in the body may have ${bytesMax} bytes when it is unpacked`)
    }
    throw exceptionOf('INCORRECT_DATA', `Cannot unpack the request body: ${String(error)}`)
  })
}

/** The body in a file, after `prefix` if the query contains the first data. */
export function spooled(body: Body, prefix: Buffer, folder: string): Body {
  if (body.path !== undefined && prefix.length === 0) return body
  const path = join(folder, `${process.pid}-${spoolCount++}`)
  const fd = openSync(path, 'wx', 0o600)
  try {
    writeWhole(fd, prefix)
    writeWhole(fd, body.head)
  } finally {
    closeSync(fd)
  }
  return createBody(Buffer.alloc(0), path, body.compression)
}

export function createBody(head: Buffer, path: string | undefined, compression: string): Body {
  const remove = (): void => {
    if (path !== undefined) rmSync(path, { force: true })
  }
  return { head, path, compression, remove }
}

async function readUpTo(path: string, bytesMax: number): Promise<Buffer> {
  const read = await buffer(createReadStream(path, { end: bytesMax }))
  if (read.length <= bytesMax) return read
  throw tooLarge(
    `A query in the body may have ${bytesMax} bytes; put the query into the URL, data into the body`,
  )
}

function tooLarge(detail: string): Exception {
  return exceptionOf('QUERY_IS_TOO_LARGE', detail)
}

function compressionOf(request: IncomingMessage): string {
  const coding = (headerOf(request, 'content-encoding') ?? 'identity').trim().toLowerCase()
  const compression = codings[coding]
  if (compression !== undefined) return compression
  throw exceptionOf('UNKNOWN_COMPRESSION_METHOD', `Unknown Content-Encoding '${coding}'`)
}

function writeWhole(fd: number, bytes: Buffer): void {
  let at = 0
  while (at < bytes.length) at += writeSync(fd, bytes, at)
}

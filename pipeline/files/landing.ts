import { isUtf8 } from 'node:buffer'
import { mkdir, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { Fault } from '../../schemas/fault.js'
import type { Decimals, LandedChunk, Measured } from '../../schemas/manifest.js'
import { attempt, ifThere, readLocal, writeAll } from '../sources/disk.js'
import { joinDecimals, noDecimals } from './decimals.js'
import { cutPoint, lastRow, type UnendedRow } from './rows.js'

/** The folder of an arrival's chunks below the landing folder. */
export function landedFolder(landing: string, arrival: number): string {
  return join(landing, String(arrival))
}

export function chunkName(chunk: number): string {
  return `${String(chunk).padStart(6, '0')}.csv`
}

export function chunkPath(
  landing: string,
  { arrival, chunk }: { readonly arrival: number; readonly chunk: Pick<LandedChunk, 'chunk'> },
): string {
  return join(landedFolder(landing, arrival), chunkName(chunk.chunk))
}

const newline = 10

/** The first chunk is small, so that the engine starts early; each is twice the one before. */
const firstChunkBytes = 8_388_608

export interface LandingOptions {
  readonly folder: string
  readonly chunkBytes: number
  /** Physical line of the first byte that will be added. */
  readonly firstLine: number
  /** Counts the rows of a full chunk. */
  readonly measure: (bytes: Buffer) => Measured
  /**
   * How many of the last rows may be cut if the last has no line end: those of the sender's last line. Called
   * before their chunk is written.
   */
  readonly rowsCut: (row: UnendedRow, decimals: Decimals) => Promise<number>
  /** Called when a chunk is written, in the order of the file. */
  readonly onChunk: (chunk: LandedChunk) => Promise<void>
}

export interface Landing {
  add(bytes: Buffer): Promise<void>
  /** Writes the rest. */
  end(): Promise<Landed>
  /** Ends the writing; nothing can be added any more. */
  close(): Promise<void>
}

/** A file whose rows are all in the landing. */
export interface Landed {
  readonly chunks: readonly LandedChunk[]
  /** Rows whose quantity has more decimals than are stored. */
  readonly roundedRows: number
  /** The last row if it has no line end. */
  readonly unendedRow: UnendedRow | undefined
}

/** Two buffers for the next landing: new ones cost the collection of all garbage and a fault for each page. */
const buffers: Buffer[] = []

function takeBuffer(bytes: number): Buffer {
  const found = buffers.pop()
  return found?.length === bytes ? found : Buffer.allocUnsafeSlow(bytes)
}

function giveBack(...used: readonly [Buffer, Buffer]): void {
  buffers.splice(0, Number.POSITIVE_INFINITY, ...used)
}

/**
 * Cuts a stream of bytes at row ends into chunk files, counts each and writes it while the next one
 * fills. Memory is two chunks, whatever the size of the file. The chunks are not flushed to disk:
 * the source keeps the file until it is settled, so a lost chunk is landed again.
 */
export async function createLanding(options: LandingOptions): Promise<Landing> {
  const onDisk = <T>(run: () => Promise<T>) => attempt(options.folder, run)
  await onDisk(() => rm(options.folder, { recursive: true, force: true }))
  await onDisk(() => mkdir(options.folder, { recursive: true, mode: 0o700 }))
  const chunks: LandedChunk[] = []
  let roundedRows = 0
  let decimals = noDecimals
  let unendedRow: UnendedRow | undefined
  let filling = takeBuffer(options.chunkBytes)
  let spare = takeBuffer(options.chunkBytes)
  let isClosed = false
  let aim = Math.min(firstChunkBytes, options.chunkBytes)
  let used = 0
  let line = options.firstLine
  let writing: Promise<void> = Promise.resolve()

  const write = async (bytes: Buffer, chunk: LandedChunk) => {
    const path = join(options.folder, chunkName(chunk.chunk))
    const file = await onDisk(() => open(path, 'w', 0o600))
    try {
      await onDisk(() => writeAll(file, bytes, 0))
    } finally {
      await file.close()
    }
    await noteWritten(path, chunk)
    await options.onChunk(chunk)
  }
  const land = async (length: number, isLast = false) => {
    const bytes = filling.subarray(0, length)
    const place = { chunk: chunks.length, line }
    const described = describeChunk(bytes, place, options.measure)
    roundedRows += described.rounded
    decimals = joinDecimals(decimals, described.decimals)
    line += described.chunk.lines
    if (isLast && bytes[length - 1] !== newline) unendedRow = lastRow(bytes, line)
    const rowsCut = unendedRow === undefined ? 0 : await options.rowsCut(unendedRow, decimals)
    const cutLine = (unendedRow?.line ?? 0) - rowsCut + 1
    if (rowsCut > 0 && cutLine < place.line) throw cutAcross()
    const chunk = rowsCut > 0 ? { ...described.chunk, cutLine } : described.chunk
    chunks.push(chunk)
    await writing
    writing = write(bytes, chunk)
    writing.catch(() => undefined)
    const left = used - length
    filling.copy(spare, 0, length, used)
    ;[filling, spare] = [spare, filling]
    used = left
  }
  const cut = async () => {
    const at = cutPoint(filling.subarray(0, used))
    if (at === 0 && aim === filling.length) throw rowLength(line, options.chunkBytes)
    aim = Math.min(aim * 2, filling.length)
    if (at > 0) await land(at)
  }
  return {
    add: async (bytes) => {
      for (let at = 0; at < bytes.length; ) {
        const part = Math.min(aim - used, bytes.length - at)
        bytes.copy(filling, used, at, at + part)
        used += part
        at += part
        if (used === aim) await cut()
      }
    },
    end: async () => {
      if (used > 0) await land(used, true)
      await writing
      return { chunks, roundedRows, unendedRow }
    },
    close: async () => {
      await writing.catch(() => undefined)
      if (!isClosed) giveBack(filling, spare)
      isClosed = true
    },
  }
}

/** No line end in a whole chunk that starts at `line`. */
function rowLength(line: number, chunkBytes: number): Fault {
  const detail = `line ${line} is longer than ${chunkBytes} bytes; export one row per line`
  return new Fault('ROW_LENGTH', detail)
}

/** The rows of a line that may be cut lie in two chunks, and the first of them may be loaded already. */
function cutAcross(): Fault {
  const detail = 'the last line has no line end and may be cut; end the file with a line end'
  return new Fault('TRUNCATED', detail)
}

/** Refuses a chunk that starts at `line` and is not UTF-8 text. */
function proveText(bytes: Buffer, line: number): void {
  if (bytes.includes(0))
    throw new Fault('ENCODING', `NUL byte after line ${line}; export it as UTF-8 text`)
  if (!isUtf8(bytes))
    throw new Fault(
      'ENCODING',
      `the rows from line ${line} on are not UTF-8; export it as UTF-8 text`,
    )
}

/** Plain rows are ASCII; of others the encoding is proved before anything else is refused. */
function measureText(bytes: Buffer, line: number, measure: LandingOptions['measure']): Measured {
  let measured: Measured | undefined
  try {
    measured = measure(bytes)
  } finally {
    if (measured?.format !== 'plain') proveText(bytes, line)
  }
  return measured
}

/** A chunk as its bytes show it; refuses bytes that are not UTF-8 text. */
export function describeChunk(
  bytes: Buffer,
  place: Pick<LandedChunk, 'chunk' | 'line'>,
  measure: LandingOptions['measure'],
): { readonly chunk: LandedChunk } & Pick<Measured, 'rounded' | 'decimals'> {
  const { rounded, decimals, ...measured } = measureText(bytes, place.line, measure)
  const chunk = { ...place, ...measured, bytes: bytes.length, crc32: crc32(bytes) }
  return { chunk, rounded, decimals }
}

type Bytes = Pick<LandedChunk, 'bytes' | 'crc32'>

/** Chunks that this process has written: their bytes, inode and when it last changed, by path. */
const written = new Map<string, string>()
const writtenMax = 10_000

async function noteWritten(path: string, chunk: Bytes): Promise<void> {
  const found = await identityOf(path, chunk)
  if (written.size >= writtenMax) written.clear()
  if (found !== undefined) written.set(path, found)
}

/**
 * Whether this process has written these bytes of a chunk and nobody has touched it since: then it need not be
 * read to be proved. It forgets the chunk.
 */
export async function isAsWritten(path: string, chunk: Bytes): Promise<boolean> {
  const known = written.get(path)
  written.delete(path)
  return known !== undefined && known === (await identityOf(path, chunk))
}

/** Whoever alters a file changes the time in its inode, which no program can set. */
async function identityOf(path: string, { bytes, crc32 }: Bytes): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined)
  if (found?.size !== BigInt(bytes)) return undefined
  return `${crc32} ${bytes} ${found.ino} ${found.ctimeNs}`
}

/** A chunk in the landing: as it was cut, gone or cut short, or with other bytes. */
export async function lookAtChunk(
  path: string,
  { bytes, crc32: expected }: Bytes,
): Promise<'intact' | 'missing' | 'altered'> {
  const found = await stat(path).catch(() => undefined)
  if (found?.size !== bytes) return 'missing'
  const sum = await ifThere(sumOf(path))
  if (sum === undefined) return 'missing'
  return sum === expected ? 'intact' : 'altered'
}

async function sumOf(path: string): Promise<number> {
  let sum = 0
  for await (const part of readLocal(path)) sum = crc32(part, sum)
  return sum
}

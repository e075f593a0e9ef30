import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { utf16Of } from '../../pipeline/files/header.js'
import { inflate } from '../../pipeline/files/inflate.js'
import { splitFields } from '../../pipeline/formats/csv/columns.js'
import { type Encoding, readLines } from '../../pipeline/formats/lines.js'
import { Fault } from '../../schemas/fault.js'
import { feeds } from '../../schemas/feed.js'
import { matchHeader } from '../../schemas/record-feed.js'
import { temporaryFolder } from '../stack/temporary-store.js'

/** The first lines of a sender's file, and what their bytes show of its format. */
export interface SentSample {
  readonly path: string
  readonly name: string
  /** Day of the last change of the file in UTC, `YYYY-MM-DD`: no read of it is later. */
  readonly fileDate: string
  readonly format: SampleFormat
  readonly packed: Packed
  readonly encoding: Encoding
  readonly encodingEvidence: string
  readonly lines: readonly string[]
  /** Whether these are all lines of the file. */
  readonly isWhole: boolean
}

type Packed = 'none' | 'gzip' | 'zip'
export type SampleFormat = 'tieline' | 'csv' | 'nem12' | 'nem13' | 'green-button' | 'xml'

/** What is looked at of a file; the judgement at the end reads all of it. */
const linesMax = 200_000
const bytesMax = 64 * 1_048_576
const lineBytesMax = 65_536
const ratioMax = 200

/**
 * Reads the beginning of a file, which may be packed. Throws `CONFIG` for what is not a file, `EMPTY_FILE`,
 * `ENCODING`, and the faults of archives.
 */
export async function readSample(path: string): Promise<SentSample> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw new Fault('CONFIG', `${path} is not a file; name sample files`)
  const packed = await packedAs(path)
  const { bytes, isWhole } = await readHead(path, packed)
  if (bytes.length === 0) throw new Fault('EMPTY_FILE', `${path} has no bytes`)
  const { encoding, evidence } = encodingOf(bytes)
  const lines: string[] = []
  const options = { encoding, lineBytesMax, onEnd: () => undefined }
  const parts = readLines(toParts(wholeCharacters(bytes, { encoding, isWhole })), options)
  for await (const part of parts) for (const { text } of part) lines.push(text)
  if (!isWhole) lines.pop()
  const kept = lines.slice(0, linesMax)
  if (kept[0] !== undefined) kept[0] = kept[0].replace(/^\uFEFF/, '')
  return {
    path,
    name: basename(path),
    fileDate: found.mtime.toISOString().slice(0, 10),
    format: formatOf(kept),
    packed,
    encoding,
    encodingEvidence: evidence,
    lines: kept,
    isWhole: isWhole && lines.length <= linesMax,
  }
}

async function readHead(
  path: string,
  compression: Packed,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const parts: Buffer[] = []
  let length = 0
  const input = createReadStream(path) as AsyncIterable<Buffer>
  const limits = {
    compression,
    ratioMax,
    fileBytesMax: Number.MAX_SAFE_INTEGER,
    folder: temporaryFolder(),
  }
  for await (const part of inflate(input, limits)) {
    parts.push(Buffer.from(part))
    length += part.length
    if (length >= bytesMax)
      return { bytes: Buffer.concat(parts).subarray(0, bytesMax), isWhole: false }
  }
  return { bytes: Buffer.concat(parts), isWhole: true }
}

/** The first bytes say how a file is packed; its name may be anything. */
async function packedAs(path: string): Promise<Packed> {
  const stream = createReadStream(path, { end: 3 })
  for await (const head of stream as AsyncIterable<Buffer>) {
    if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
    if (head.toString('latin1') === 'PK\x03\x04') return 'zip'
  }
  return 'none'
}

async function* toParts(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1_048_576) yield bytes.subarray(at, at + 1_048_576)
}

/** Where a file is cut, its last character may be too. */
function wholeCharacters(
  bytes: Buffer,
  { encoding, isWhole }: { readonly encoding: Encoding; readonly isWhole: boolean },
): Buffer {
  if (isWhole) return bytes
  if (encoding.startsWith('utf-16')) return bytes.subarray(0, bytes.length & ~1)
  return bytes.subarray(0, bytes.lastIndexOf(10) + 1)
}

function encodingOf(bytes: Buffer): { readonly encoding: Encoding; readonly evidence: string } {
  const utf16 = utf16Of(bytes)
  if (utf16 !== undefined) return { encoding: utf16, evidence: 'its first bytes are UTF-16' }
  const cut = bytes.subarray(0, bytes.lastIndexOf(10) + 1 || bytes.length)
  if (isUtf8(cut)) return { encoding: 'utf-8', evidence: 'all its bytes are UTF-8' }
  return { encoding: 'windows-1252', evidence: 'some bytes are not UTF-8' }
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

function formatOf(lines: readonly string[]): SampleFormat {
  const first = lines.find((line) => line.trim() !== '') ?? ''
  if (/^\s*</.test(first)) {
    const isFeed = lines.slice(0, 200).some((line) => /<(\w+:)?(feed|entry)\b/.test(line))
    const isEspi = lines.some((line) => line.includes('naesb.org/espi'))
    return isFeed && isEspi ? 'green-button' : 'xml'
  }
  if (/^"?100"?,\s*"?NEM12/i.test(first)) return 'nem12'
  if (/^"?100"?,\s*"?NEM13/i.test(first)) return 'nem13'
  const columns = splitFields(first, ',')
  const isPlain = columns !== undefined && matchHeader(feeds.Electric, columns) !== undefined
  return isPlain ? 'tieline' : 'csv'
}

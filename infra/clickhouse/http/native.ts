import { type Exception, exceptionOf } from './exception.js'

/** What a block begins with for clients that name a version: field 1 is false, field 2 is -1, end. */
const blockInfo = Buffer.from([1, 0, 2, 255, 255, 255, 255, 0])
/** From this version on a byte after each type says whether its values are stored in a special way. */
const flagVersion = 54_454
const plainFlag = Buffer.from([0])

/** A place in bytes; beyond their end if they are not complete. */
interface Cursor {
  readonly bytes: Buffer
  at: number
}

/** A block is held until it is complete. */
const blockBytesMax = 64 * 1024 * 1024

/**
 * Blocks of the Native format as ClickHouse sends them to clients with `client_protocol_version`: the engine
 * writes them as for clients without. Throws NOT_IMPLEMENTED for types whose length the bytes do not give
 * (JSON, Dynamic, Variant, states of aggregates) and TOO_MANY_ROWS_OR_BYTES for a block that is too long, when
 * the source has ended, which `stop` hastens.
 */
export async function* withBlockInfo(
  source: AsyncIterable<Buffer>,
  version: number,
  stop: () => void = () => undefined,
): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = []
  let bytes = 0
  let enough = 1
  let failure: unknown
  for await (const chunk of source) {
    if (failure !== undefined) continue
    chunks.push(chunk)
    bytes += chunk.length
    // Twice as much as at the last attempt: each byte is read twice at most.
    if (bytes < Math.min(enough, blockBytesMax)) continue
    try {
      const { blocks, rest } = readBlocks(Buffer.concat(chunks), version)
      if (rest.length >= blockBytesMax) throw tooLong()
      if (blocks.length > 0) yield Buffer.concat(blocks)
      chunks = [rest]
      bytes = rest.length
      enough = 2 * bytes + 1
    } catch (error) {
      failure = error
      stop()
    }
  }
  if (failure !== undefined) throw failure
  const { blocks, rest } = readBlocks(Buffer.concat(chunks), version)
  // What is left belongs to a block that an error has cut off.
  if (bytes > 0) yield Buffer.concat([...blocks, rest])
}

function tooLong(): Exception {
  const detail = `a block of Native has more than ${blockBytesMax} bytes; lower max_block_size`
  return exceptionOf('TOO_MANY_ROWS_OR_BYTES', `Limit for result exceeded: ${detail}`)
}

function readBlocks(bytes: Buffer, version: number): { blocks: Buffer[]; rest: Buffer } {
  const blocks: Buffer[] = []
  const cursor = { bytes, at: 0 }
  let start = 0
  while (start < bytes.length) {
    const parts = readBlock(cursor, version)
    if (cursor.at > bytes.length) break
    blocks.push(blockInfo, ...parts)
    start = cursor.at
  }
  return { blocks, rest: bytes.subarray(start) }
}

function readBlock(cursor: Cursor, version: number): Buffer[] {
  const { bytes } = cursor
  const parts: Buffer[] = []
  let from = cursor.at
  const columns = readNumber(cursor)
  const rows = readNumber(cursor)
  for (let index = 0; index < columns && cursor.at <= bytes.length; index++) {
    skipStrings(cursor, 1)
    const type = readText(cursor)
    if (cursor.at > bytes.length) break
    parts.push(bytes.subarray(from, cursor.at))
    if (version >= flagVersion) parts.push(plainFlag)
    from = cursor.at
    if (rows === 0) continue
    skip(cursor, prefixBytes(type))
    skipValues(cursor, type, rows)
  }
  parts.push(bytes.subarray(from, cursor.at))
  return parts
}

/** Bytes of one value. */
const sizes: Readonly<Record<string, number>> = {
  ...{ Bool: 1, Nothing: 1, Int8: 1, UInt8: 1, Enum8: 1 },
  ...{ Int16: 2, UInt16: 2, Enum16: 2, BFloat16: 2, Date: 2 },
  ...{ Int32: 4, UInt32: 4, Float32: 4, Date32: 4, DateTime: 4, Time: 4, IPv4: 4 },
  ...{ Int64: 8, UInt64: 8, Float64: 8, DateTime64: 8, Time64: 8 },
  ...{ Int128: 16, UInt128: 16, UUID: 16, IPv6: 16, Point: 16, Int256: 32, UInt256: 32 },
}

const aliases: Readonly<Record<string, string>> = {
  Ring: 'Array(Point)',
  LineString: 'Array(Point)',
  Polygon: 'Array(Ring)',
  MultiLineString: 'Array(LineString)',
  MultiPolygon: 'Array(Polygon)',
}

/** Of all dictionaries in a type, which come before its values. */
function prefixBytes(type: string): number {
  const { name, inner } = parseType(type)
  if (name === 'LowCardinality') return 8
  if (!/^(Array|Map|Nested|Tuple|SimpleAggregateFunction)$/.test(name)) return 0
  const types = name === 'SimpleAggregateFunction' ? inner.slice(1) : inner
  return types.reduce((bytes, one) => bytes + prefixBytes(one), 0)
}

function skipValues(cursor: Cursor, type: string, rows: number): void {
  const { name, inner } = parseType(type)
  const [first = '', second = ''] = inner
  const size = sizes[name] ?? (/^Interval/.test(name) ? 8 : undefined)
  if (rows === 0) return
  if (size !== undefined) skip(cursor, rows * size)
  else if (name === 'Decimal') skip(cursor, rows * decimalBytes(Number(first)))
  else if (name === 'String') skipStrings(cursor, rows)
  else if (name === 'FixedString') skip(cursor, rows * Number(first))
  else if (name === 'Tuple') for (const one of inner) skipValues(cursor, one, rows)
  else if (name === 'SimpleAggregateFunction') skipValues(cursor, second, rows)
  else if (name === 'LowCardinality') skipDictionary(cursor, first)
  else if (name === 'Nullable') {
    skip(cursor, rows)
    skipValues(cursor, first, rows)
  } else if (name === 'Array' || name === 'Map' || name === 'Nested') {
    skip(cursor, 8 * (rows - 1))
    const values = readUInt64(cursor)
    for (const one of inner) skipValues(cursor, one, values)
  } else if (aliases[name] !== undefined) skipValues(cursor, aliases[name], rows)
  else {
    const detail = `Native blocks with client_protocol_version and values of ${type}`
    throw exceptionOf(
      'NOT_IMPLEMENTED',
      `${detail}: select them with toString or in another format`,
    )
  }
}

/** The size of an index in the lowest byte, the distinct values, and an index for each row. */
function skipDictionary(cursor: Cursor, type: string): void {
  const indexBytes = 1 << (readUInt64(cursor) & 3)
  const { name, inner } = parseType(type)
  skipValues(cursor, name === 'Nullable' ? (inner[0] ?? '') : type, readUInt64(cursor))
  skip(cursor, indexBytes * readUInt64(cursor))
}

function skip(cursor: Cursor, bytes: number): void {
  cursor.at += bytes
}

function decimalBytes(digits: number): number {
  if (digits <= 18) return digits <= 9 ? 4 : 8
  return digits <= 38 ? 16 : 32
}

function skipStrings(cursor: Cursor, count: number): void {
  for (let index = 0; index < count && cursor.at <= cursor.bytes.length; index++) {
    skip(cursor, readNumber(cursor))
  }
}

function readText(cursor: Cursor): string {
  const length = readNumber(cursor)
  skip(cursor, length)
  return cursor.bytes.toString('utf8', cursor.at - length, cursor.at)
}

/** A number of 7 bits a byte, the lowest first. */
function readNumber(cursor: Cursor): number {
  let number = 0
  for (let unit = 1; ; unit *= 128) {
    const byte = cursor.bytes[cursor.at++]
    if (byte === undefined) return end(cursor)
    number += (byte & 127) * unit
    if (byte < 128) return number
  }
}

function readUInt64(cursor: Cursor): number {
  if (cursor.at + 8 > cursor.bytes.length) return end(cursor)
  skip(cursor, 8)
  return Number(cursor.bytes.readBigUInt64LE(cursor.at - 8))
}

/** Nothing more can be read. */
function end(cursor: Cursor): number {
  cursor.at = Number.POSITIVE_INFINITY
  return 0
}

/** The name of a type and the types in its brackets, without names of elements. */
function parseType(type: string): { readonly name: string; readonly inner: readonly string[] } {
  const [, name = type, text] = /^(\w+)\((.*)\)$/s.exec(type) ?? []
  if (text === undefined) return { name, inner: [] }
  const inner: string[] = []
  let depth = 0
  let last = 0
  for (const { 0: token, index } of text.matchAll(/'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|[(),]/gs)) {
    if (token === '(') depth++
    else if (token === ')') depth--
    else if (token === ',' && depth === 0) {
      inner.push(text.slice(last, index))
      last = index + 1
    }
  }
  inner.push(text.slice(last))
  return { name, inner: inner.map(withoutName) }
}

function withoutName(element: string): string {
  return element.trim().replace(/^(?:`(?:[^`\\]|\\.)*`|\w+) +(?=\w)/s, '')
}

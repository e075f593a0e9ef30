import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Fault } from '../../schemas/fault.js'

/** A record of a file of customers; `value` is undefined where the text is no JSON. */
export interface CustomerRecord {
  /** Physical line on which it starts, from 1. */
  readonly line: number
  readonly value: unknown
  /** Bytes of the file up to the end of the record. */
  readonly bytesRead: number
}

/** A single object may stand on many lines; this is room for thousands of its sites. */
const objectCharactersMax = 16_777_216

/**
 * The records of a file that holds one JSON object, on as many lines as it likes, or one on each
 * line: a first line that is no JSON, with no object behind it, begins an object of many lines. Blank
 * lines are passed over. Throws `SOURCE_UNREACHABLE` where the file cannot be read.
 */
export async function* readCustomers(path: string): AsyncGenerator<CustomerRecord> {
  let bytesRead = 0
  let line = 0
  let records = 0
  let first: { readonly line: number; text: string } | undefined
  for await (const raw of linesOf(path)) {
    line++
    bytesRead += Buffer.byteLength(raw) + 1
    const text = line === 1 ? raw.replace(/^\uFEFF/, '') : raw
    if (text.trim() === '') continue
    const value = parseJson(text)
    records++
    if (first !== undefined && (records > 2 || !isObject(value))) {
      first.text += `\n${text}`
      if (first.text.length > objectCharactersMax) break
    } else if (records === 1 && value === undefined) {
      first = { line, text }
    } else {
      if (first !== undefined) yield { line: first.line, value: undefined, bytesRead }
      first = undefined
      yield { line, value, bytesRead }
    }
  }
  if (first !== undefined) yield { line: first.line, value: parseJson(first.text), bytesRead }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const stream = createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 20 })
  try {
    yield* createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new Fault('SOURCE_UNREACHABLE', `${path}: ${code ?? 'unreadable'}`, { cause })
  } finally {
    stream.destroy()
  }
}

/** What a parser says of wrong JSON quotes the text, so it is not passed on. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

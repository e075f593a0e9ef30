import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { Fault } from '../../schemas/fault.js'
import { parseJson } from '../../schemas/json.js'
import { type CustomerRecord, elementsOf } from './customer-array.js'

/** The limit of an object on many lines: enough for thousands of sites. */
const objectCharactersMax = 16_777_216

/**
 * The records of a file with one JSON object on any number of lines, with one object per line, or with a
 * JSON array of objects.
 * A first line that is not JSON, without an object after it, starts an object of many lines. Blank
 * lines are ignored. Throws `SOURCE_UNREACHABLE` if the file cannot be read.
 */
export async function* readCustomers(path: string): AsyncGenerator<CustomerRecord> {
  if (await isArray(path)) {
    yield* elementsOf(textOf(path), objectCharactersMax)
    return
  }
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

/** Whether the first character is `[`, after a byte order mark and blanks. */
async function isArray(path: string): Promise<boolean> {
  for await (const chunk of textOf(path)) {
    const start = chunk.replace(/^\uFEFF/, '').trimStart()
    if (start !== '') return start.startsWith('[')
  }
  return false
}

async function* textOf(path: string): AsyncGenerator<string> {
  const stream = createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 20 })
  try {
    yield* stream
  } catch (cause) {
    throw unreadable(path, cause)
  } finally {
    stream.destroy()
  }
}

function unreadable(path: string, cause: unknown): Fault {
  const { code } = cause as NodeJS.ErrnoException
  return new Fault('SOURCE_UNREACHABLE', `${path}: ${code ?? 'unreadable'}`, { cause })
}

async function* linesOf(path: string): AsyncGenerator<string> {
  const stream = createReadStream(path, { encoding: 'utf8', highWaterMark: 1 << 20 })
  try {
    yield* createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })
  } catch (cause) {
    throw unreadable(path, cause)
  } finally {
    stream.destroy()
  }
}

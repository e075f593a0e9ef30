import { parseJson } from '../../schemas/json.js'

/** A record of a customer file; `value` is undefined if the text is not JSON. */
export interface CustomerRecord {
  /** Physical line on which it starts, from 1. */
  readonly line: number
  readonly value: unknown
  /** Bytes of the file up to the end of the record. */
  readonly bytesRead: number
}

const [quote, backslash, comma, newline] = [...'"\\,\n'].map((one) => one.charCodeAt(0))
const opening = new Set([...'[{'].map((one) => one.charCodeAt(0)))
const closing = new Set([...']}'].map((one) => one.charCodeAt(0)))

/**
 * The elements of a JSON array, each with the line on which it starts. Only one element is in memory.
 * A text that is not JSON between two commas is one invalid record; so is an array that is cut short.
 */
export async function* elementsOf(
  chunks: AsyncIterable<string>,
  elementCharactersMax: number,
): AsyncGenerator<CustomerRecord> {
  let [line, startLine, depth, bytesRead] = [1, 0, 0, 0]
  let [isQuoted, isEscaped] = [false, false]
  let text = ''
  const take = (part: string): CustomerRecord => {
    const record = { line: startLine || line, value: parseJson(text + part), bytesRead }
    text = ''
    startLine = 0
    return record
  }
  for await (const chunk of chunks) {
    bytesRead += Buffer.byteLength(chunk)
    let from = 0
    for (let at = 0; at < chunk.length; at++) {
      const code = chunk.charCodeAt(at)
      if (code === newline) line++
      if (startLine === 0 && depth > 0 && code > 0x20) startLine = line
      if (isQuoted) {
        if (isEscaped) isEscaped = false
        else if (code === backslash) isEscaped = true
        else if (code === quote) isQuoted = false
      } else if (code === quote) isQuoted = true
      else if (opening.has(code) && ++depth === 1) from = at + 1
      else if (closing.has(code) && --depth === 0) {
        if ((text + chunk.slice(from, at)).trim() !== '') yield take(chunk.slice(from, at))
        from = at + 1
        startLine = 0
      } else if (code === comma && depth === 1) {
        yield take(chunk.slice(from, at))
        from = at + 1
      }
    }
    text += chunk.slice(from)
    if (text.length > elementCharactersMax) break
  }
  if (depth > 0 || text.trim() !== '')
    yield { line: startLine || line, value: undefined, bytesRead }
}

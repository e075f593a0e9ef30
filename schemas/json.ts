export type JsonObject = Readonly<Record<string, unknown>>

/** Undefined for text that is not JSON; the error of the parser would quote the text, and personal data in it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses a JSON object; undefined for anything else. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const sentText = Symbol('sent text')

/** A number as it was sent: a double would lose digits of `9007199254740993` and of `1.0`. */
export interface SentNumber {
  readonly [sentText]: string
}

/** The text of a number that `parseSent` has read; undefined for any other value. */
export function sentNumber(value: unknown): string | undefined {
  return isObject(value) ? (value as Partial<SentNumber>)[sentText] : undefined
}

const keyOrValue = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|-?\d[\d.eE+-]*/g

/**
 * Parses JSON in which every number becomes a `SentNumber`; undefined for text that is not JSON.
 * Strings and numbers are marked in the text first, and the marks removed as it is parsed.
 */
export function parseSent(text: string): unknown {
  if (parseJson(text) === undefined) return undefined
  const marked = text.replace(keyOrValue, (token, string?: string, colon?: string) => {
    if (colon !== undefined) return token
    return string === undefined ? `"n${token}"` : `"s${string.slice(1)}`
  })
  return JSON.parse(marked, (_, value) => {
    if (typeof value !== 'string') return value
    return value.startsWith('n') ? { [sentText]: value.slice(1) } : value.slice(1)
  })
}

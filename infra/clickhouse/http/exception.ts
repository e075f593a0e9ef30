/** An error in ClickHouse's format: `Code: N. DB::Exception: text (NAME)`. */
export interface Exception {
  readonly code: number
  readonly name: string
  readonly text: string
}

/** Codes of errors that this HTTP interface raises itself, by their ClickHouse names. */
const codes = {
  UNKNOWN_FUNCTION: 46,
  SYNTAX_ERROR: 62,
  NOT_ENOUGH_SPACE: 243,
  NOT_IMPLEMENTED: 48,
  UNKNOWN_FORMAT: 73,
  UNKNOWN_SETTING: 115,
  TIMEOUT_EXCEEDED: 159,
  READONLY: 164,
  TOO_MANY_SIMULTANEOUS_QUERIES: 202,
  QUERY_IS_TOO_LARGE: 165,
  SESSION_NOT_FOUND: 372,
  SESSION_IS_LOCKED: 373,
  INVALID_SESSION_TIMEOUT: 374,
  QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING: 216,
  QUERY_WAS_CANCELLED: 394,
  ACCESS_DENIED: 497,
  UNKNOWN_ROLE: 511,
  AUTHENTICATION_FAILED: 516,
  UNKNOWN_COMPRESSION_METHOD: 89,
  INCORRECT_DATA: 117,
  BAD_ARGUMENTS: 36,
  TOO_MANY_ROWS_OR_BYTES: 396,
  SETTING_CONSTRAINT_VIOLATION: 452,
  UNKNOWN_EXCEPTION: 1002,
} as const satisfies Record<string, number>

export function exceptionOf(name: keyof typeof codes, detail: string): Exception {
  const code = codes[name]
  return { code, name, text: `Code: ${code}. DB::Exception: ${detail} (${name})` }
}

/** Parses an error of the engine; any other error becomes UNKNOWN_EXCEPTION. */
export function toException(thrown: unknown): Exception {
  if (isException(thrown)) return thrown
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  if (/^ENOSPC/.test(text)) return exceptionOf('NOT_ENOUGH_SPACE', text)
  const code = /^Code: (\d+)\. /.exec(text)?.[1]
  if (code === undefined) return exceptionOf('UNKNOWN_EXCEPTION', text.trim())
  const name = /\(([A-Z0-9_]{3,})\)\s*$/.exec(text)?.[1] ?? 'UNKNOWN_EXCEPTION'
  return { code: Number(code), name, text: text.trim() }
}

function isException(thrown: unknown): thrown is Exception {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && 'text' in thrown
}

/** HTTP statuses as ClickHouse assigns them (HTTPHandler.cpp); every other code is a 500. */
const statuses: readonly (readonly [status: number, codes: readonly number[]])[] = [
  [
    400,
    [6, 20, 26, 27, 36, 38, 41, 42, 43, 53, 62, 69, 72, 85, 89, 117, 130, 131, 167, 168, 223, 321],
  ],
  [403, [192, 193, 497, 516]],
  [404, [46, 47, 50, 56, 60, 63, 73, 81, 115, 178, 511]],
  [408, [159]],
  [413, [165]],
  [423, [373]],
  [501, [48]],
  [503, [76, 202, 209]],
]

export function statusOf(exception: Exception): number {
  return statuses.find(([, codes]) => codes.includes(exception.code))?.[0] ?? 500
}

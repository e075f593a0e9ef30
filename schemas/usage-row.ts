import { type Commodity, feeds } from './feed.js'
import { judgeIdentifier, trimBlanks } from './field.js'
import { isPlainDecimal, parseQuantity, type Quantity, type ReadQuality } from './quantity.js'
import { readTimestamp, type TimestampReader, type TimestampRules } from './time/read-timestamp.js'

/**
 * Why a row is rejected, in the order of judgement, with the detail that the rejects file has.
 * After the detail of the column counts comes the number of columns found; after that of the length,
 * the meter and the lines that show it.
 */
export const rejectCodes = {
  ROW_TOO_LONG: { detail: 'the row is longer than limits.rowBytesMax' },
  BAD_QUOTES: { detail: 'quotes do not match' },
  TOO_FEW_COLUMNS: { detail: 'expected 5 columns, found' },
  TOO_MANY_COLUMNS: { detail: 'expected 5 columns, found' },
  EMPTY: { detail: 'value is missing' },
  TOO_LONG: { detail: 'longer than 64 characters' },
  CONTROL_CHARACTER: { detail: 'it has a control or other invisible character' },
  FORMULA: { detail: 'identifier starts with = or + or - or @' },
  SPREADSHEET_NUMBER: { detail: 'identifier was rounded by a spreadsheet' },
  NOT_A_TIME: { detail: 'not a date or time' },
  TIME_FORMAT: { detail: 'written differently from the other timestamps of the file' },
  NONEXISTENT_TIME: { detail: 'the clock skips this time' },
  FUTURE_TIME: { detail: 'more than usage.futureHours after the file arrived' },
  NOT_A_NUMBER: { detail: 'not a plain decimal number' },
  NEGATIVE: { detail: 'negative, which this commodity does not allow' },
  TOO_LARGE: { detail: 'above usage.quantityMax' },
  AMBIGUOUS_TIME: {
    detail: 'the clock shows this time twice: send the whole day, or times with an offset',
  },
  BAD_RECORD: { detail: 'the record does not fit the format of the file' },
  INTERVAL_COUNT: { detail: 'the record does not have a value for each interval of its day' },
  MAYBE_CUT: {
    detail: 'the last row has no line end and may be cut; end the file with a line end',
  },
  INTERVAL_LENGTH: {
    detail: 'no length in usage.intervals fits the rows and the stored reads',
  },
} as const satisfies Record<string, { detail: string }>

export type RejectCode = keyof typeof rejectCodes
export type UsageColumn = (typeof feeds.Electric.columns)[number]

/** What a row is judged by: the profile's `usage` and what is known of its file. */
export interface UsageRules extends TimestampRules {
  readonly commodity: Commodity
  readonly negative: Readonly<Record<Commodity, boolean>>
  /** In units. */
  readonly quantityMax: number
  /** How many columns of the file are behind those of the feed and ignored. */
  readonly extraColumns?: number | undefined
}

/**
 * An accepted row. `starts` are the instants at which its interval may start, epoch seconds: two in
 * the hour that the clock repeats, where the order of the rows decides between them.
 */
export interface AcceptedRow {
  readonly outcome: 'accepted'
  readonly accountNumber: string
  readonly externalSiteId: string
  readonly meterId: string
  readonly starts: readonly number[]
  readonly micros: bigint
  readonly rounded: boolean
}

/** A rejected row. `column` is empty where the number of columns is wrong. */
export interface RejectedRow {
  readonly outcome: 'rejected'
  readonly code: RejectCode
  readonly column: UsageColumn | ''
  readonly detail: string
  readonly micros: bigint
  readonly rounded: boolean
}

export type UsageVerdict = AcceptedRow | RejectedRow

/** The column of a converted row that estimates have. */
export const estimateLetter = 'E'

/** The qualities of converted rows, by the text of their column; all others are as sent. */
export const qualityLetters = {
  [estimateLetter]: 'estimated',
  S: 'substituted',
} as const satisfies Readonly<Record<string, ReadQuality>>

export type QualityLetter = keyof typeof qualityLetters | ''

/** The quality of a converted row. */
export function qualityOf(letter = ''): ReadQuality {
  return letter in qualityLetters ? qualityLetters[letter as keyof typeof qualityLetters] : 'asSent'
}

const columns = feeds.Electric.columns
const microsInOne = 1_000_000n

/**
 * Judges one row of a usage file, its fields unquoted but untrimmed, by the columns from left to
 * right; the first wrong column decides. A rejected row counts with its last field's quantity,
 * 0 where that is not a plain decimal. The engine's own judgement must agree with this one. `read` is
 * `readTimestamp` by the same rules, which a caller may remember.
 */
export function judgeUsageRow(
  fields: readonly string[],
  rules: UsageRules,
  read: TimestampReader = (text) => readTimestamp(text, rules),
): UsageVerdict {
  const { extraColumns = 0 } = rules
  const values = fields.map(trimBlanks)
  const quantity = parseQuantity(values.at(-1 - extraColumns) ?? '')
  const { micros, rounded } = quantity ?? { micros: 0n, rounded: false }
  const reject = (code: RejectCode, column: UsageColumn | ''): RejectedRow => {
    const { detail } = rejectCodes[code]
    return { outcome: 'rejected', code, column, detail, micros, rounded }
  }
  const expected = columns.length + extraColumns
  if (values.length !== expected) {
    const code = values.length < expected ? 'TOO_FEW_COLUMNS' : 'TOO_MANY_COLUMNS'
    return { ...reject(code, ''), detail: `expected ${expected} columns, found ${values.length}` }
  }
  const [accountNumber = '', externalSiteId = '', meterId = '', time = '', amount = ''] = values
  for (const [index, identifier] of [accountNumber, externalSiteId, meterId].entries()) {
    const code = judgeIdentifier(identifier)
    if (code !== undefined) return reject(code, columns[index] ?? '')
  }
  const starts = read(time)
  if (typeof starts === 'string') return reject(starts, 'TimeStamp')
  const code = judgeAmount(amount, quantity, rules)
  if (code !== undefined) return reject(code, 'TotalUnit')
  return {
    outcome: 'accepted',
    accountNumber,
    externalSiteId,
    meterId,
    starts,
    micros,
    rounded,
  }
}

/** The place of a row in the hour that the clock repeats. */
export interface RepeatedPlace {
  readonly meterId: string
  /** Its start in daylight time, epoch seconds. */
  readonly start: number
}

/**
 * The place in the repeated hour that a row holds, whatever else is wrong with it: were a rejected
 * row passed over, the next one of its meter would be taken for the first.
 */
export function repeatedPlaceOf(
  fields: readonly string[],
  read: TimestampReader,
  extraColumns = 0,
): RepeatedPlace | undefined {
  if (fields.length !== columns.length + extraColumns) return undefined
  const [, , meterId = '', time = ''] = fields.map(trimBlanks)
  if (judgeIdentifier(meterId) !== undefined) return undefined
  const starts = read(time)
  if (typeof starts === 'string' || starts.length < 2) return undefined
  return { meterId, start: starts[0] as number }
}

/** Numbers that Decimal(18,6) cannot hold are above every `quantityMax`. */
function judgeAmount(
  text: string,
  quantity: Quantity | undefined,
  rules: UsageRules,
): RejectCode | undefined {
  if (text === '') return 'EMPTY'
  if (quantity === undefined && !isPlainDecimal(text)) return 'NOT_A_NUMBER'
  const micros = quantity?.micros
  const isNegative = micros === undefined ? text.startsWith('-') : micros < 0n
  if (isNegative && !rules.negative[rules.commodity]) return 'NEGATIVE'
  const size = micros === undefined || micros >= 0n ? micros : -micros
  const isAbove = size === undefined || size > BigInt(rules.quantityMax) * microsInOne
  return isAbove ? 'TOO_LARGE' : undefined
}

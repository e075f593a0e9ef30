import { identifierCharactersMax, judgeIdentifier } from './field.js'
import {
  formatScaled,
  isPlainDecimal,
  parseScaled,
  priceDecimals,
  quantityDecimals,
} from './quantity.js'
import { isCalendarDay } from './time/timestamp.js'

/** The value of a record's column as the store writes it; null where it is absent. */
export type RecordValue = string | null

/**
 * Texts that a judge is sure to accept and that the store reads as the value that it returns. All
 * others, valid or not, are left to the judge.
 */
export interface PlainTexts {
  /** Of the whole text; JavaScript and RE2 read it alike. */
  readonly pattern: string
  /** Bytes of UTF-8, where the pattern has no limit. */
  readonly bytesMax?: number
  /** The value of an empty text, if it is valid. */
  readonly absent?: RecordValue
}

/** Judges the trimmed text of one column, which is empty where it is absent. */
export interface ValueJudge {
  (text: string): RecordValue | ValueProblem
  /** Of a decimal, how many decimals are kept; more are rounded. */
  readonly decimals?: number
  readonly plain?: PlainTexts
}

/** Validates a row whose columns are each valid; a problem names the column. */
export interface RowJudge {
  (
    row: Readonly<Record<string, RecordValue>>,
  ): (ValueProblem & { readonly column: string }) | undefined
  /** All that it asks of plain texts: the second is absent or not below the first. */
  readonly order?: readonly [start: string, end: string]
}

/** Why a value is rejected, and what was expected. */
export interface ValueProblem {
  readonly code: RecordCode
  readonly expected: string
}

/** Every way in which a row of a record feed is rejected, except for its quotes and columns. */
export const recordCodes = {
  EMPTY: 'value is missing',
  TOO_LONG: 'longer than 64 characters',
  TEXT_TOO_LONG: 'longer than 500 characters',
  CONTROL_CHARACTER: 'it has a control or other invisible character',
  FORMULA: 'identifier starts with = or + or - or @',
  SPREADSHEET_NUMBER: 'identifier was rounded by a spreadsheet',
  NOT_A_DATE: 'expected a date from 1970 to 2105 written YYYY-MM-DD',
  NOT_A_DAY: 'expected a date written YYYY-MM-DD, or --MM-DD for every year',
  NOT_A_NUMBER: 'expected a plain decimal number',
  TOO_LARGE: 'expected at most 12 digits before the point',
  NEGATIVE: 'expected a number that is not negative',
  NOT_A_COUNT: 'expected a whole number from 0 to 4294967295',
  NOT_AN_HOUR: 'expected H or H:MM from 0 to 24, in quarters of an hour',
  NOT_LISTED: 'expected one of',
  ENDS_BEFORE_START: 'expected a date that is not before',
  YEAR_IN_ONE: 'expected --MM-DD in both dates or in neither',
} as const

export type RecordCode = keyof typeof recordCodes

export function problem(code: RecordCode, more = ''): ValueProblem {
  return { code, expected: recordCodes[code] + more }
}

/** A column that may be empty. */
export function maybe(judge: ValueJudge, absent: RecordValue = null): ValueJudge {
  const { decimals, plain } = judge
  const optional = (text: string) => (text === '' ? absent : judge(text))
  return Object.assign(
    optional,
    decimals !== undefined && { decimals },
    plain && { plain: { ...plain, absent } },
  )
}

/**
 * Plain identifiers are of ASCII and have no quote or comma. Behind a first digit a point or an E may
 * make the number of a spreadsheet.
 */
const more = '(?: *[!#-+\\x2d-~])*'
const plainIdentifier = `(?:[A-Za-z]${more}|[0-9](?: *[!#-+\\x2d/-DF-df-~]${more})?)`

export const identifier: ValueJudge = Object.assign(
  (text: string) => {
    const code = judgeIdentifier(text)
    return code === undefined ? text : problem(code)
  },
  { plain: { pattern: plainIdentifier, bytesMax: identifierCharactersMax } },
)

const textCharactersMax = 500

export const words: ValueJudge = Object.assign(
  (text: string) => {
    if (text === '') return problem('EMPTY')
    return text.length > textCharactersMax ? problem('TEXT_TOO_LONG') : text
  },
  { plain: { pattern: '[^\\x00- "](?: *[^\\x00- "])*', bytesMax: textCharactersMax } },
)

const isoDay = /^(\d{4})-(\d\d)-(\d\d)$/
const knownDays = new Set<string>()
const knownDaysMax = 50_000

export function isDay(text: string): boolean {
  if (knownDays.has(text)) return true
  const found = isoDay.exec(text)
  const isKnown =
    found !== null && isCalendarDay(Number(found[1]), Number(found[2]), Number(found[3]))
  if (isKnown && knownDays.size < knownDaysMax) knownDays.add(text)
  return isKnown
}

/** Leap days of this century only. */
const plainDay = `(?:${[
  '(?:19[7-9]\\d|20\\d\\d|210[0-5])-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])',
  '(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)',
  '02-(?:0[1-9]|1\\d|2[0-8]))',
  '20(?:[02468][048]|[13579][26])-02-29',
].join('|')})`

export const day: ValueJudge = Object.assign(
  (text: string) => {
    if (text === '') return problem('EMPTY')
    return isDay(text) ? text : problem('NOT_A_DATE')
  },
  { plain: { pattern: plainDay } },
)

/** A decimal; digits beyond the sixth decimal are rounded half to even, as in a usage file. */
export const decimal = decimalOf(quantityDecimals)

/** Dollars for one unit, or a rate of percent, of which more decimals are kept. */
export const price = decimalOf(priceDecimals)

function decimalOf(decimals: number): ValueJudge {
  /** What parsing and formatting would leave as it is; most are. */
  const canonical = new RegExp(
    `^(?:0|-?[1-9]\\d{0,11}|-?(?:0|[1-9]\\d{0,11})\\.\\d{0,${decimals - 1}}[1-9])$`,
  )
  const judge = (text: string) => {
    if (text === '') return problem('EMPTY')
    if (canonical.test(text)) return text
    const found = parseScaled(text, decimals)
    if (found !== undefined) return formatScaled(found.value, decimals)
    return problem(isPlainDecimal(text) ? 'TOO_LARGE' : 'NOT_A_NUMBER')
  }
  const plain = { pattern: `-?\\d{1,12}(?:\\.\\d{1,${decimals}})?` }
  return Object.assign(judge, { decimals, plain })
}

export const notNegative: ValueJudge = Object.assign(
  (text: string) => (text.startsWith('-') ? problem('NEGATIVE') : decimal(text)),
  { decimals: quantityDecimals },
)

/** A day, or `--MM-DD` for that day of every year. */
export function dayOfYear(text: string): RecordValue | ValueProblem {
  // A leap year has all days of every year.
  if (text === '') return problem('EMPTY')
  return isDay(text.replace(/^--/, '2024-')) ? text : problem('NOT_A_DAY')
}

/** `H` or `H:MM` as hours: `19:30` is 19.5. */
export function hour(text: string): RecordValue | ValueProblem {
  if (text === '') return problem('EMPTY')
  const found = /^(\d{1,2})(?::(00|15|30|45))?$/.exec(text)
  const hours = Number(found?.[1]) + Number(found?.[2] ?? 0) / 60
  return hours <= 24 ? String(hours) : problem('NOT_AN_HOUR')
}

export const count: ValueJudge = Object.assign(
  (text: string) => {
    if (text === '') return problem('EMPTY')
    return /^\d{1,10}$/.test(text) && Number(text) < 2 ** 32
      ? String(Number(text))
      : problem('NOT_A_COUNT')
  },
  { plain: { pattern: '\\d{1,9}' } },
)

/** One of some words, whatever their case. */
export function oneOf(known: readonly string[]): ValueJudge {
  const spelled = new Map(known.map((word) => [word.toLowerCase(), word]))
  const wrong = problem('NOT_LISTED', ` ${known.join(', ')}`)
  const judge = (text: string) => {
    if (text === '') return problem('EMPTY')
    return spelled.get(text.toLowerCase()) ?? wrong
  }
  return Object.assign(judge, { plain: { pattern: `(?:${known.join('|')})` } })
}

/** Refuses a row whose last day lies before its first. */
export function inOrder(start: string, end: string): RowJudge {
  const judge: RowJudge = (row) => {
    const [from, to] = [row[start], row[end]]
    if (from == null || to == null || from <= to) return undefined
    return { ...problem('ENDS_BEFORE_START', ` ${start}`), column: end }
  }
  return Object.assign(judge, { order: [start, end] as const })
}

/** The same where both days may be those of every year: then the range may go over its end. */
export function inYearOrder(start: string, end: string): RowJudge {
  const inOne = inOrder(start, end)
  return (row) => {
    const [from, to] = [row[start] ?? '', row[end] ?? '']
    const isYearly = from.startsWith('--')
    if (isYearly !== to.startsWith('--') && (isYearly || to !== '')) {
      return { ...problem('YEAR_IN_ONE'), column: end }
    }
    return isYearly || to === '' ? undefined : inOne(row)
  }
}

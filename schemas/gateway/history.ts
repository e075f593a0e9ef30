import { z } from 'zod'
import { Fault } from '../fault.js'
import { csvField } from '../field.js'
import { parseSent, sentNumber } from '../json.js'
import { qualityColumn } from '../quantity.js'
import { byteSize } from '../settings/byte-size.js'
import { utilityServer } from './utility-server.js'

/**
 * The MDM that is asked for the history of a meter when it is first registered: with `meterId`, `from`
 * and `to` (days of the meters' zone, both included).
 */
export const backfillSettings = utilityServer({
  /** How far back. */
  days: z.int().min(1).max(3_650).default(400),
  timeoutMs: z.int().min(10).max(600_000).default(60_000),
  connectionsMax: z.int().min(1).max(100).default(4),
  answerBytesMax: byteSize('32 MB', { min: '1 KB', max: '256 MB' }),
})
export type BackfillSettings = z.output<typeof backfillSettings>

export interface HistoryAsked {
  readonly meterId: string
  /** Local days, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
}

/** What an MDM answers: a usage file with its header row, or NDJSON with the same names. */
export interface HistoryAnswer {
  readonly format: 'csv' | 'ndjson'
  readonly text: string
  /** Whether HTTP shows that all of it came. */
  readonly isWhole: boolean
}

/** A driver for an MDM. Faults: `MDM_UNREACHABLE`, `MDM_ANSWER`. */
export interface Mdm {
  /** Undefined where it has none of this meter. */
  history(asked: HistoryAsked): Promise<HistoryAnswer | undefined>
  close(): Promise<void>
}

const columns = ['AccountNumber', 'ExternalSiteID', 'MeterID', 'TimeStamp', 'TotalUnit'] as const
const number = z
  .custom((value) => sentNumber(value) !== undefined)
  .transform((value) => sentNumber(value) as string)
/** A surrogate that is alone has no UTF-8: in the file any two of them would be the same text. */
const text = z.string().regex(/^\P{Cs}*$/u)
const value = z.union([text, number])
/** As a number an identifier has lost its zeros in front, and beyond 2^53 its last digits. */
const identifier = z.union([text, number.refine(isWholeAndSafe)])
const row = z.object({
  AccountNumber: identifier.default(''),
  ExternalSiteID: identifier,
  MeterID: identifier,
  TimeStamp: value,
  TotalUnit: value,
  [qualityColumn]: value.optional(),
  /** Names are compared with case: what this one says would be lost. */
  quality: z.undefined().optional(),
})

function isWholeAndSafe(text: string): boolean {
  return /^-?\d+$/.test(text) && Number.isSafeInteger(Number(text))
}

/**
 * An answer as the text of a usage file; undefined where it holds no row. CSV is passed on as it is,
 * for the rows are judged where those of every file are. Faults: `MDM_ANSWER`, with the line.
 */
export function toUsageText({ format, text }: Omit<HistoryAnswer, 'isWhole'>): string | undefined {
  if (format === 'csv') return /\n[^\r\n]/.test(text.trimStart()) ? text : undefined
  const { rows, hasQuality } = toUsageRows(
    text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [toRow(line, at)])),
  )
  const header = hasQuality ? [...columns, qualityColumn] : columns
  return rows.length === 0 ? undefined : `${header.join(',')}\n${rows.join('\n')}\n`
}

function toRow(line: string, at: number): SentUsageRow {
  const read = readUsageRow(line)
  if ('row' in read) return read
  throw new Fault('MDM_ANSWER', `line ${at + 1} of the MDM's answer has no valid ${read.field}`)
}

/** A row of a usage file, and what its sender says of its quality: mostly nothing. */
export interface SentUsageRow {
  readonly row: string
  readonly quality: string
}

/** A line of NDJSON as a row of a usage file, or the field that it lacks. */
export function readUsageRow(line: string): SentUsageRow | { readonly field: string } {
  const parsed = row.safeParse(parseSent(line))
  if (!parsed.success) return { field: parsed.error.issues[0]?.path.join('.') || 'JSON' }
  const { data } = parsed
  const text = columns.map((column) => csvField(data[column])).join(',')
  return { row: text, quality: data[qualityColumn] ?? '' }
}

/** The rows of a file, whose column of qualities is left out where no row states one. */
export function toUsageRows(sent: readonly SentUsageRow[]): {
  readonly rows: readonly string[]
  readonly hasQuality: boolean
} {
  const hasQuality = sent.some(({ quality }) => quality !== '')
  const rows = sent.map(({ row, quality }) => (hasQuality ? `${row},${csvField(quality)}` : row))
  return { rows, hasQuality }
}

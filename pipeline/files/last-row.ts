import { recordFeedOf } from '../../schemas/feed.js'
import { trimBlanks } from '../../schemas/field.js'
import type { Decimals } from '../../schemas/manifest.js'
import type { MatchedHeader } from '../../schemas/record-feed.js'
import { isDay } from '../../schemas/record-value.js'
import { parseRow } from './csv.js'
import type { UnendedRow } from './rows.js'

/** Whether a last row without line end lacks columns (decision 20). */
export function isCutShort(
  unendedRow: UnendedRow | undefined,
  { columns, extra }: MatchedHeader,
): boolean {
  if (unendedRow === undefined) return false
  return (parseRow(unendedRow.raw)?.length ?? 0) < columns.length + extra.length
}

/** The file of a last row. */
export interface RowSetting extends MatchedHeader {
  readonly feed: string
  readonly decimals: Decimals
}

/**
 * Whether a complete last row without a line end shows by itself that its last column was not cut:
 * an ignored column, a carriage return or a closing quote follows it, it is a date, or all numbers of the file have as
 * many decimals, one of them a zero at the end. Without that zero the file may leave zeros out, as
 * in `12.5` and `0.106`, which a cut makes `0.1`.
 */
export function provesItself({ raw, hasReturn }: UnendedRow, file: RowSetting): boolean {
  if (hasReturn || file.extra.length > 0) return true
  const column = file.columns.at(-1) ?? ''
  const record = recordFeedOf(file.feed)
  const isDate = column.endsWith('Date')
  if (!isDate && record !== undefined && record.total !== column) return false
  if (quotedNumber.test(raw)) return true
  const value = trimBlanks(parseRow(raw)?.at(-1) ?? '')
  if (isDate) return isDay(value.replace(/^--/, '2024-'))
  const { count, padded } = file.decimals
  return padded && decimal.exec(value)?.[1]?.length === count
}

const quotedNumber = /(?:^|,)[ \t]*"[ \t]*[-0-9.]+[ \t]*"$/
const decimal = /^-?\d*\.(\d+)$/

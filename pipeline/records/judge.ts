import type { Quantity } from '../../schemas/quantity.js'
import {
  type FileColumns,
  judgeRecord,
  type RecordFeed,
  type RecordVerdict,
} from '../../schemas/record-feed.js'
import { type RejectCode, rejectCodes } from '../../schemas/usage-row.js'
import { parseRow, unreadableCode } from '../files/csv.js'
import { columnQuantity, type MeasuredColumns } from './measure.js'

export interface RecordRules extends FileColumns {
  readonly feed: RecordFeed
  readonly rowBytesMax: number
}

/** The position in a file of the column by which a feed is proved, or -1. */
function totalColumn({ total }: RecordFeed, header: readonly string[]): number {
  return total === undefined ? -1 : header.indexOf(total)
}

/** The columns of a file that are counted before its rows are judged. */
export function measuredColumns(
  feed: RecordFeed,
  header: readonly string[],
): Omit<MeasuredColumns, 'rowBytesMax'> {
  const decimals = header.flatMap((column, at) => {
    const kept = feed.decimals.get(column)
    return kept === undefined ? [] : [[at, kept] as const]
  })
  return { total: totalColumn(feed, header), decimals }
}

/** Judges a row as a file has it. */
export function judgeRawRecord(raw: string, rules: RecordRules): RecordVerdict {
  const { feed, rowBytesMax } = rules
  if (raw.length * 3 > rowBytesMax && Buffer.byteLength(raw) > rowBytesMax)
    return unreadable('ROW_TOO_LONG')
  const fields = parseRow(raw)
  return fields === undefined ? unreadable(unreadableCode(raw)) : judgeRecord(feed, rules, fields)
}

/** What a row counts with in the sums, usable or not. */
export function rawQuantity(raw: string, { feed, header }: RecordRules): Quantity {
  return columnQuantity(parseRow(raw), totalColumn(feed, header))
}

function unreadable(code: RejectCode): RecordVerdict {
  return { outcome: 'rejected', code, column: '', detail: rejectCodes[code].detail }
}

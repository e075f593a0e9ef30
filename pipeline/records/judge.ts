import { judgeRecord, type RecordFeed, type RecordVerdict } from '../../schemas/record-feed.js'
import { rejectCodes } from '../../schemas/usage-row.js'
import { parseRow } from '../csv.js'
import { rowMicros } from './measure.js'

export interface RecordRules {
  readonly feed: RecordFeed
  /** The columns that the file has. */
  readonly header: readonly string[]
  readonly rowBytesMax: number
}

/** Where the column by which a feed is proved stands in a file; -1 where there is none. */
export function totalColumn({ total }: RecordFeed, header: readonly string[]): number {
  return total === undefined ? -1 : header.indexOf(total)
}

/** Judges a row as it stands in a file, and says what it counts with, usable or not. */
export function judgeRawRecord(
  raw: string,
  { feed, header, rowBytesMax }: RecordRules,
): RecordVerdict & { readonly micros: bigint } {
  const micros = () => rowMicros(raw, totalColumn(feed, header))
  if (raw.length * 3 > rowBytesMax && Buffer.byteLength(raw) > rowBytesMax) {
    return { ...unreadable('ROW_TOO_LONG'), micros: micros() }
  }
  const fields = parseRow(raw)
  if (fields === undefined) return { ...unreadable('BAD_QUOTES'), micros: 0n }
  const verdict = judgeRecord(feed, header, fields)
  return verdict.outcome === 'accepted' ? verdict : { ...verdict, micros: micros() }
}

function unreadable(code: 'ROW_TOO_LONG' | 'BAD_QUOTES') {
  return { outcome: 'rejected' as const, code, column: '', detail: rejectCodes[code].detail }
}

import { slashDateOf } from '../../schemas/time/date-order.js'
import { type AcceptedRow, type RepeatedPlace, repeatedPlaceOf } from '../../schemas/usage-row.js'
import { parseRow } from '../files/csv.js'
import type { RowBlock } from '../files/row-blocks.js'
import { type RawRow, splitRows } from '../files/rows.js'
import { judgeParsedRow, type RawRowRules, shownRow } from '../usage/row-path.js'
import { rememberStamps } from '../usage/timestamps.js'
import { createNameHasher, heldMicros } from './read-record.js'
import type { RecordSorter } from './record-sorter.js'

/** An unusable row, as the rejects file shows it. */
export interface BadRow {
  readonly line: number
  /** Empty where the whole row is unusable. */
  readonly column: string
  readonly code: string
  readonly detail: string
  /** As it stood in the file. */
  readonly row: string
}

export interface ReadingOptions {
  /** Judged by what the first rows show, hence only known once they are there. */
  readonly rules: () => RawRowRules
  /** Takes the usable rows. */
  readonly reads: RecordSorter
  /** Takes those of the hour that the clock repeats, by their first start, and what rejected rows hold there. */
  readonly repeats: RecordSorter
  readonly badRowsMax: number
  /** Called every few thousand rows, so that other things can go on meanwhile. */
  readonly pause: (rows: number) => Promise<void>
}

/** What the rows of a file say, judged one by one. */
export interface Reading {
  readonly rows: number
  readonly micros: bigint
  readonly rejected: { readonly rows: number; readonly micros: bigint }
  readonly repeated: number
  /** Rows whose quantity has more decimals than are kept. */
  readonly rounded: number
  /** Standard time for each start in daylight time that the file has. */
  readonly secondStarts: ReadonlyMap<number, number>
  /** The different dates with slashes. */
  readonly dates: ReadonlySet<string>
  /** The first ones. */
  readonly badRows: readonly BadRow[]
  readonly unendedRow: string | undefined
}

const pauseRows = 16_384

/** Reads a file row by row with the CSV parser and judges each, in bounded memory. */
export async function readRows(
  pieces: AsyncIterable<RowBlock>,
  options: ReadingOptions,
): Promise<Reading> {
  const { reads, repeats, badRowsMax } = options
  const namesOf = createNameHasher()
  const secondStarts = new Map<number, number>()
  const seeDate = createDates()
  const badRows: BadRow[] = []
  const counted = { rows: 0, micros: 0n, repeated: 0, rounded: 0 }
  const rejected = { rows: 0, micros: 0n }
  let unendedRow: string | undefined
  let judge: ReturnType<typeof createJudge> | undefined
  const keep = (line: number, row: AcceptedRow): Promise<void> | undefined => {
    const [start = 0, second] = row.starts
    const sorter = second === undefined ? reads : repeats
    if (second !== undefined) {
      counted.repeated++
      secondStarts.set(start, second)
    }
    const { meter, owner } = namesOf(row)
    sorter.add({ meter, owner, start, line, micros: row.micros })
    return sorter.isFull() ? sorter.spill() : undefined
  }
  const hold = (line: number, place: RepeatedPlace): Promise<void> | undefined => {
    const { meter, owner } = namesOf({ accountNumber: '', externalSiteId: '', ...place })
    repeats.add({ meter, owner, start: place.start, line, micros: heldMicros })
    return repeats.isFull() ? repeats.spill() : undefined
  }
  for await (const piece of pieces) {
    judge ??= createJudge(options.rules())
    unendedRow = piece.unendedRow
    for (const row of splitRows(piece.bytes, piece.line)) {
      const { fields, verdict, held } = judge(row)
      if (fields?.length === 5) seeDate.see(fields[3] as string)
      counted.rows++
      counted.micros += verdict.micros
      if (verdict.rounded) counted.rounded++
      if (verdict.outcome === 'accepted') {
        const spilled = keep(row.line, verdict)
        if (spilled !== undefined) await spilled
      } else {
        rejected.rows++
        rejected.micros += verdict.micros
        if (held !== undefined) await hold(row.line, held)
        const { column, code, detail } = verdict
        if (badRows.length < badRowsMax) {
          badRows.push({ line: row.line, column, code, detail, row: shownRow(row.raw) })
        }
      }
      if (counted.rows % pauseRows === 0) await options.pause(counted.rows)
    }
  }
  return { ...counted, rejected, secondStarts, dates: seeDate.dates, badRows, unendedRow }
}

function createJudge(rules: RawRowRules) {
  const read = rememberStamps(rules)
  return ({ raw }: RawRow) => {
    const fields = parseRow(raw)
    const verdict = judgeParsedRow({ raw, fields }, rules, read)
    const isHeld = verdict.outcome === 'rejected' && fields !== undefined
    return { fields, verdict, held: isHeld ? repeatedPlaceOf(fields, read) : undefined }
  }
}

const seenMax = 100_000

/** Gathers dates for the proof of their order; each different timestamp is looked at once. */
function createDates() {
  const seen = new Set<string>()
  const dates = new Set<string>()
  return {
    dates,
    see: (text: string): void => {
      if (seen.has(text)) return
      if (seen.size === seenMax) seen.clear()
      seen.add(text)
      const date = slashDateOf(text)
      if (date !== undefined) dates.add(date)
    },
  }
}

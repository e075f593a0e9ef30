import { trimBlanks } from '../../schemas/field.js'
import { formatQuantity } from '../../schemas/quantity.js'
import { lengthsOf, type Profile } from '../../schemas/settings/profile.js'
import { isDayFormat } from '../../schemas/time/timestamp.js'
import { createZone, daySeconds } from '../../schemas/time/zone.js'
import { parseRow } from '../files/csv.js'
import type { RowBlock } from '../files/row-blocks.js'
import { splitRows } from '../files/rows.js'
import type { FileState } from '../ledger/file-state.js'
import {
  dateNotes,
  hold,
  noteLengths,
  refuseDates,
  refuseShare,
  withRejected,
} from '../ledger/verdict.js'
import { lengthDetail } from '../usage/lengths.js'
import type { Closest } from '../usage/rekey.js'
import { shownRow } from '../usage/row-path.js'
import { type MeterTally, tallyMeters } from './meter-tally.js'
import type { RecordSorter } from './record-sorter.js'
import { placeRepeats } from './repeated-hour.js'
import type { BadRow, Reading } from './row-reading.js'

export interface Judged {
  readonly profile: Profile
  readonly reading: Reading
  readonly reads: RecordSorter
  readonly repeats: RecordSorter
  readonly badRowsMax: number
}

export interface Decided {
  readonly state: FileState
  readonly badRows: readonly BadRow[]
  /** What shows of the meters of some bad rows that no length fits, by line. */
  readonly closest: ReadonlyMap<number, Closest>
}

/** What becomes of a file that was read to its end, in the order in which `reconcile` decides. */
export async function decide(state: FileState, judged: Judged): Promise<Decided> {
  const { profile, reading, reads, repeats, badRowsMax } = judged
  const { dateOrder, rejectedShareMax } = profile.usage
  const { fileDate, manifest } = state
  const dates = dateNotes(reading.dates, { fileDate, format: manifest.format, dateOrder })
  const notes = { ...state.notes, ...dates, repeatedHourRows: reading.repeated }
  const dated = withRejected({ ...state, notes }, toCounted(reading.rejected))
  const misdated = refuseDates(notes, dateOrder)
  if (misdated !== undefined) {
    return { state: hold(dated, misdated), badRows: reading.badRows, closest: new Map() }
  }
  await placeRepeats(repeats, reads, reading.secondStarts)
  const tally = await tallyMeters(reads.sorted(), rulesOf(state, judged))
  const counted = withRejected(
    { ...dated, notes: noteLengths(notes, tally.rejectedMeters) },
    toCounted({
      rows: reading.rejected.rows + tally.rejected.rows,
      micros: reading.rejected.micros + tally.rejected.micros,
    }),
  )
  const closest = new Map(tally.rejectedLines.map((one) => [one.line, one.closest]))
  const badRows = [...reading.badRows, ...[...closest.keys()].map(lengthless)]
    .sort((a, b) => a.line - b.line)
    .slice(0, badRowsMax)
  const tooMany = refuseShare(counted.rows, rejectedShareMax)
  if (tooMany !== undefined) {
    return { state: hold(counted, tooMany), badRows, closest }
  }
  return { state: published(counted, tally), badRows, closest }
}

function rulesOf({ manifest, feed }: FileState, { profile, badRowsMax }: Judged) {
  const allowed = lengthsOf(profile, feed)
  const isDaily = manifest.format !== null && isDayFormat(manifest.format)
  const single = isDaily ? daySeconds : (allowed[0] as number)
  const endsAfter = profile.usage.stamp === 'end' && !isDaily ? manifest.seconds : undefined
  const zone = createZone(profile.timeZone)
  return { zone, endsAfter, allowed, single, linesMax: badRowsMax }
}

function toCounted({ rows, micros }: { readonly rows: number; readonly micros: bigint }) {
  return { rows, quantity: formatQuantity(micros) }
}

/** A row whose meter has no usable length; the meter is looked up when the row is shown. */
function lengthless(line: number): BadRow {
  return { line, column: 'TimeStamp', code: 'INTERVAL_LENGTH', detail: '', row: '' }
}

function published(state: FileState, tally: MeterTally): FileState {
  const { read, duplicate, superseded, meters } = tally
  const accepted = {
    rows: read.rows - duplicate.rows - superseded.rows,
    micros: read.micros - duplicate.micros - superseded.micros,
  }
  const outcomes = { accepted, duplicate, superseded }
  const rows = Object.entries(outcomes).map(([name, counts]) => [name, counts.rows])
  const quantity = Object.entries(outcomes).map(([name, one]) => [name, formatQuantity(one.micros)])
  return {
    ...state,
    status: 'published',
    rows: { ...state.rows, ...Object.fromEntries(rows) },
    quantity: { ...state.quantity, ...Object.fromEntries(quantity) },
    meters,
    firstIntervalStart: meters === 0 ? undefined : new Date(tally.firstStart * 1_000),
    lastIntervalEnd: meters === 0 ? undefined : new Date(tally.lastEnd * 1_000),
  }
}

/** Fills in text and detail of those bad rows that were found by their line only. */
export async function withRows(
  { badRows, closest }: Decided,
  again: () => AsyncGenerator<RowBlock>,
  allowed: readonly number[],
): Promise<readonly BadRow[]> {
  const wanted = new Set(badRows.flatMap(({ line }) => (closest.has(line) ? [line] : [])))
  if (wanted.size === 0) return badRows
  const found = new Map<number, string>()
  for await (const { bytes, line } of again()) {
    for (const row of splitRows(bytes, line)) {
      if (wanted.has(row.line)) found.set(row.line, row.raw)
      if (found.size === wanted.size) break
    }
    if (found.size === wanted.size) break
  }
  return badRows.map((bad) => {
    const raw = found.get(bad.line)
    if (raw === undefined) return bad
    const meterId = trimBlanks(parseRow(raw)?.[2] ?? '')
    const detail = lengthDetail(meterId, closest.get(bad.line), allowed)
    return { ...bad, detail, row: shownRow(raw) }
  })
}

import { Fault } from '../../fault.js'
import { recordFeedOf } from '../../feed.js'
import { csvField, judgeIdentifier } from '../../field.js'
import type { Linted, PlacedRow } from '../../lint/finding.js'
import { lintSet } from '../../lint/lint.js'
import { judgeRecord, type RecordFeed } from '../../record-feed.js'
import { toChargeRows } from './charges.js'
import { daysOf, type ImportDays, isUnsureDay } from './days.js'
import { type ImportedRow, toEnergyRows } from './energy.js'
import { plainWords, readTariffPeriods } from './periods.js'
import { brief, parseTariffs, placeOf, type Tariff, wrong } from './tariff.js'
import { findComments, findUnexpressed, type Unexpressed } from './unexpressed.js'

export interface ImportOptions {
  readonly company: string
  /** `YYYY-MM-DD`, in the names of the files. */
  readonly fileDate: string
  /** The utility's rate codes by the labels of entries, which are the codes of others. */
  readonly codes: ReadonlyMap<string, string>
  readonly from?: string | undefined
  /** Without it, prices that change within the year end with the next year. */
  readonly until?: string | undefined
}

/** What became of one entry of the database. */
export interface ImportedTariff {
  readonly label: string
  readonly name: string
  readonly rateCode: string
  /** Why nothing of it is written. */
  readonly refused?: string
  /** What its bills do not have. */
  readonly missing: readonly Unexpressed[]
  /** What was taken as given, and what to look after. */
  readonly notes: readonly string[]
}

/** A rate file: its lines, header first. */
export interface ImportedFile {
  readonly name: string
  readonly lines: readonly string[]
}

export interface Import {
  readonly tariffs: readonly ImportedTariff[]
  readonly files: readonly ImportedFile[]
  readonly linted: Linted
}

type FeedRows = Readonly<Record<string, readonly ImportedRow[]>>

/**
 * Turns JSON of the open rate database into rate files, and judges them as a set. Pure: the same value
 * and options give the same files. Throws `CONFIG` for a value that is not such JSON.
 */
export function importRates(value: unknown, options: ImportOptions): Import {
  const tariffs = parseTariffs(value)
  const coded = codesOf(tariffs, options.codes)
  const found = tariffs.map((tariff, at) => toTariffRows(tariff, coded[at] ?? '', options))
  const files = feedsWritten.flatMap((name) => {
    const feed = recordFeedOf(name) as RecordFeed
    const rows = found.flatMap(({ rows }) => rows[name] ?? [])
    if (rows.length === 0) return []
    const lines = rows.map((row) =>
      feed.columns.map((column) => csvField(row[column] ?? '')).join(),
    )
    return [{ feed, rows, name: fileNameOf(name, options), lines: [feed.columns.join(), ...lines] }]
  })
  const rows = Object.fromEntries(
    files.map(({ feed, rows, name }) => [
      feed.name,
      rows.map((row, at) => place(feed, { name, row, at })),
    ]),
  )
  const linted = lintSet('rates', {
    rows,
    unknown: ['Holidays', ...feedsWritten.filter((name) => rows[name] === undefined)],
    registered: { rates: [], cycles: [] },
    fileDate: options.fileDate,
  })
  return { tariffs: found.map(({ tariff }) => tariff), files, linted }
}

const feedsWritten = ['RateCodes', 'RateTou', 'RateTiers', 'RateFlat', 'RateFixed'] as const

/** The rate code of each entry, in order. */
function codesOf(tariffs: readonly Tariff[], codes: ImportOptions['codes']): readonly string[] {
  const labels = new Set(tariffs.map(({ label }) => label ?? ''))
  for (const label of codes.keys()) {
    if (labels.has(label)) continue
    const some = [...labels].slice(0, 5).map(brief).join(', ')
    throw new Fault('CONFIG', `--code names the label ${brief(label)}; the file has ${some}`)
  }
  const found = new Map<string, Tariff>()
  for (const tariff of tariffs) {
    const code = codes.get(tariff.label ?? '') ?? tariff.label ?? ''
    const place = placeOf(tariff.at, ['label'])
    const problem = judgeIdentifier(code)
    if (problem !== undefined) {
      const expected = `it cannot be a rate code (${problem}). Name one with --code`
      throw wrong(place, code, expected)
    }
    const other = found.get(code)
    if (other !== undefined) {
      const expected = `${placeOf(other.at, ['label'])} has the same rate code. Name others with --code, or import one entry at a time`
      throw wrong(place, code, expected)
    }
    found.set(code, tariff)
  }
  return [...found.keys()]
}

function toTariffRows(
  tariff: Tariff,
  rateCode: string,
  options: ImportOptions,
): { readonly tariff: ImportedTariff; readonly rows: FeedRows } {
  const label = tariff.label ?? ''
  const name = plainWords(tariff.name ?? '') || rateCode
  const days = daysOf(tariff, daysAsked(tariff, options))
  const own = { label, name, rateCode }
  const periods = readTariffPeriods(tariff)
  const energy = 'refused' in periods ? periods : toEnergyRows(periods, days)
  const charges = toChargeRows(tariff, days)
  const missing = [...charges.missing, ...findUnexpressed(tariff)]
  if ('refused' in periods || 'refused' in energy) {
    const { refused } = energy as { readonly refused: string }
    return { tariff: { ...own, refused, missing, notes: [] }, rows: {} }
  }
  const code = {
    Description: name,
    RateType: energy.type,
    Commodity: 'Electric',
    UnitOfMeasure: 'kWh',
  }
  const rows: FeedRows = { RateCodes: [code], ...energy.rows, ...charges.rows }
  const flat = [...(energy.rows.RateFlat ?? []), ...(charges.rows.RateFlat ?? [])]
  const all = { ...rows, ...(flat.length > 0 && { RateFlat: flat }) }
  const notes = new Set([
    ...dateNotes(tariff),
    ...periods.notes,
    ...energy.notes,
    ...charges.notes,
    ...findComments(tariff),
    taxNote,
  ])
  return {
    tariff: { ...own, missing, notes: [...notes] },
    rows: Object.fromEntries(
      Object.entries(all).map(([feed, rows]) => [
        feed,
        rows.map((row) => ({ RateCode: rateCode, ...row })),
      ]),
    ),
  }
}

const taxNote = 'the database has no taxes: add them to the RateFixed file'

function dateNotes(tariff: Tariff): readonly string[] {
  const unsure = (['startdate', 'enddate'] as const).filter((name) => isUnsureDay(tariff[name]))
  return [
    ...unsure.map((name) => `${name} is in the afternoon in UTC; its day in UTC is taken`),
    ...(tariff.enddate === undefined ? [] : ['enddate is taken as the last day of the rate']),
  ]
}

/** The end of the year after that of the files, or of the start if that is later. */
function daysAsked(tariff: Tariff, { fileDate, from, until }: ImportOptions): ImportDays {
  if (until !== undefined) return { from, until }
  const start = daysOf(tariff, { from, until: `${lastYear}-12-31` }).from
  const year = Math.max(Number(fileDate.slice(0, 4)), Number(start.slice(0, 4)))
  return { from, until: `${Math.min(year + 1, lastYear)}-12-31` }
}

/** The last year that columns of dates take. */
const lastYear = 2105

function fileNameOf(feed: string, { company, fileDate }: ImportOptions): string {
  const [year, month, day] = fileDate.split('-')
  return `${company}_${day}${month}${year}_${feed}.csv`
}

/** The row as it would be loaded. Throws `CONFIG` for a value that no column takes. */
function place(
  feed: RecordFeed,
  { name, row, at }: { readonly name: string; readonly row: ImportedRow; readonly at: number },
): PlacedRow {
  const fields = feed.columns.map((column) => row[column] ?? '')
  const verdict = judgeRecord(feed, { header: feed.columns }, fields)
  const line = at + 2
  if (verdict.outcome === 'accepted') return { fileName: name, line, row: verdict.row }
  const { column, detail } = verdict
  throw wrong(
    `${column} of rate code ${row['RateCode']}`,
    row[column],
    `${detail}. Correct it in the file`,
  )
}

import { feeds } from '../feed.js'
import { trimBlanks } from '../field.js'
import { qualityColumn, readQualities } from '../quantity.js'
import type { PushedRows } from '../settings/intake.js'
import { detectFormat, type TimestampFormat, timestampNames } from '../time/timestamp.js'
import { readUsageRow, type SentUsageRow, toUsageRows } from './history.js'

export type PushedText =
  | {
      readonly rows: number
      readonly text: string
      /** Whether each row has a quality behind its columns. */
      readonly hasQuality: boolean
      /** The one format of the timestamps; undefined where none has one. */
      readonly timestamps: TimestampFormat | undefined
      readonly problem?: undefined
    }
  | { readonly problem: string }

/** The header of each feed whose rows can be pushed (usage feeds), by the feed's name. */
export const pushedColumns: ReadonlyMap<string, readonly string[]> = new Map(
  Object.values(feeds).flatMap(({ kind, name, columns }) =>
    kind === 'usage' ? [[name, columns] as const] : [],
  ),
)

/**
 * Pushed rows as lines of a usage file, each with its line end. Rows of several calls share one file,
 * so anything that could damage another call's rows is refused: a quote in CSV, a line break in a
 * value, a row with other columns, a NUL. So is a call with timestamps of two formats, because a file
 * has one, and a quality that is none. Everything else is validated with the rows of every file.
 */
export function toPushedText({ feed, format, text }: Omit<PushedRows, 'sender'>): PushedText {
  const columns = pushedColumns.get(feed)
  if (columns === undefined) {
    const names = [...pushedColumns.keys()].join(' or ')
    return { problem: `name the feed of the rows in the header field Feed: ${names}` }
  }
  if (text.includes('\uFFFD')) return { problem: 'the body is not UTF-8; encode it as UTF-8' }
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const read = format === 'csv' ? readCsv(lines, columns) : readNdjson(lines)
  if (!Array.isArray(read)) return { problem: String(read) }
  const { rows, hasQuality } = toUsageRows(read)
  if (rows.some((row) => row.includes('\0'))) {
    return { problem: 'a value holds a NUL character; leave it out' }
  }
  if (rows.length === 0) return { problem: 'the body holds no row; send at least one' }
  const [timestamps, other] = new Set(read.flatMap(({ row }) => formatOf(row) ?? []))
  if (timestamps !== undefined && other !== undefined) {
    const names = `${timestampNames[timestamps]} and ${timestampNames[other]}`
    return { problem: `the timestamps have two formats, ${names}; push them in calls of their own` }
  }
  return { rows: rows.length, text: `${rows.join('\n')}\n`, hasQuality, timestamps }
}

/** The timestamp is the column before the last; one with a comma or a quote has no format. */
function formatOf(row: string): TimestampFormat | undefined {
  const timestamp = /,([^,"]*),[^,]*$/.exec(row)?.[1]
  return timestamp === undefined ? undefined : detectFormat(trimBlanks(timestamp))
}

function readCsv(
  [header = '', ...lines]: readonly string[],
  columns: readonly string[],
): readonly SentUsageRow[] | string {
  const named = header.split(',').map((name) => name.trim().toLowerCase())
  const withQuality = [...columns, qualityColumn]
  const isNamed = (all: readonly string[]) => named.join() === all.join().toLowerCase()
  const hasQuality = isNamed(withQuality)
  if (!hasQuality && !isNamed(columns)) {
    const optional = `${columns.join(',')} and optionally ${qualityColumn}`
    return `the first line is not the header ${optional}; send it with these columns`
  }
  const rows: SentUsageRow[] = []
  for (const [at, line] of lines.entries()) {
    if (line === '') continue
    const count = line.split(',').length
    if (line.includes('"')) return `line ${at + 2} has a quote; push such rows as NDJSON`
    if (count !== named.length) {
      return `line ${at + 2} has ${count} columns, not ${named.length}; fix it and push again`
    }
    const end = hasQuality ? line.lastIndexOf(',') : line.length
    const quality = hasQuality ? trimBlanks(line.slice(end + 1)) : ''
    if (!isQuality(quality)) return `line ${at + 2} ${noQuality}`
    rows.push({ row: line.slice(0, end), quality })
  }
  return rows
}

function readNdjson(lines: readonly string[]): readonly SentUsageRow[] | string {
  const rows: SentUsageRow[] = []
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') continue
    const read = readUsageRow(line)
    if ('field' in read) return `line ${at + 1} has no valid ${read.field}; fix it and push again`
    if (!isQuality(read.quality)) return `line ${at + 1} ${noQuality}`
    if (/[\r\n]/.test(read.row)) return `line ${at + 1} has a line break in a value; leave it out`
    rows.push(read)
  }
  return rows
}

const noQuality = `has a ${qualityColumn} that is none of ${readQualities.join(', ')}`

function isQuality(text: string): boolean {
  return ['', ...readQualities].includes(text)
}

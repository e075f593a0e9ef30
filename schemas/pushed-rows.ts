import { feeds } from './feed.js'
import { readUsageRow } from './history.js'
import type { PushedRows } from './settings/intake.js'

export type PushedText =
  | { readonly rows: number; readonly text: string; readonly problem?: undefined }
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
 * value, a row with other columns, a NUL. Everything else is validated with the rows of every file.
 */
export function toPushedText({ feed, format, text }: PushedRows): PushedText {
  const columns = pushedColumns.get(feed)
  if (columns === undefined) {
    const names = [...pushedColumns.keys()].join(' or ')
    return { problem: `name the feed of the rows in the header field Feed: ${names}` }
  }
  if (text.includes('\uFFFD')) return { problem: 'the body is not UTF-8; encode it as UTF-8' }
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const read = format === 'csv' ? readCsv(lines, columns) : readNdjson(lines)
  if (!Array.isArray(read)) return { problem: String(read) }
  if (read.some((row) => row.includes('\0'))) {
    return { problem: 'a value holds a NUL character; leave it out' }
  }
  if (read.length === 0) return { problem: 'the body holds no row; send at least one' }
  return { rows: read.length, text: `${read.join('\n')}\n` }
}

function readCsv(
  [header = '', ...lines]: readonly string[],
  columns: readonly string[],
): readonly string[] | string {
  const names = header.split(',').map((name) => name.trim().toLowerCase())
  if (names.join() !== columns.join().toLowerCase()) {
    return `the first line is not the header ${columns.join(',')}; send it with these columns`
  }
  const rows: string[] = []
  for (const [at, line] of lines.entries()) {
    if (line === '') continue
    const count = line.split(',').length
    if (line.includes('"')) return `line ${at + 2} has a quote; push such rows as NDJSON`
    if (count !== columns.length) {
      return `line ${at + 2} has ${count} columns, not ${columns.length}; fix it and push again`
    }
    rows.push(line)
  }
  return rows
}

function readNdjson(lines: readonly string[]): readonly string[] | string {
  const rows: string[] = []
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') continue
    const read = readUsageRow(line)
    if ('field' in read) return `line ${at + 1} has no valid ${read.field}; fix it and push again`
    if (/[\r\n]/.test(read.row)) return `line ${at + 1} has a line break in a value; leave it out`
    rows.push(read.row)
  }
  return rows
}

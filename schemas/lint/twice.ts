import type { RecordFeed } from '../record-feed.js'
import { type Finding, groupRows, type PlacedRow } from './finding.js'

/** Rows with the same key: identical ones are repeats, others are an error. */
export function findTwice(
  feed: RecordFeed,
  rows: readonly PlacedRow[],
): { readonly errors: readonly Finding[]; readonly repeated: readonly PlacedRow[] } {
  const errors: Finding[] = []
  const repeated: PlacedRow[] = []
  for (const group of groupRows(rows, ...feed.key)) {
    const last = group.at(-1) as PlacedRow
    for (const one of group.slice(0, -1)) {
      if (feed.columns.every((column) => one.row[column] === last.row[column])) repeated.push(one)
      else {
        const detail = `line ${one.line} has the same ${feed.key.join(', ')} with other values`
        errors.push({ at: last, column: feed.key[0] as string, code: 'KEY_TWICE', detail })
      }
    }
  }
  return { errors, repeated }
}

import { recordFeedOf } from '../../../schemas/feed.js'
import type { PlacedRow } from '../../../schemas/lint/finding.js'
import { judgeRecord, type RecordFeed } from '../../../schemas/record-feed.js'

/** The rows of a file as they are judged; each must be usable by itself. */
export function placed(name: string, ...lines: readonly string[]): readonly PlacedRow[] {
  const feed = recordFeedOf(name) as RecordFeed
  return lines.map((text, at) => {
    const fields = text.split(',')
    const header = feed.columns.slice(0, fields.length)
    const verdict = judgeRecord(feed, { header }, fields)
    if (verdict.outcome !== 'accepted') throw new Error(`${text}: ${verdict.detail}`)
    return { fileName: `DEMO_05022026_${name}.csv`, line: at + 2, row: verdict.row }
  })
}

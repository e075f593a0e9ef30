import { recordFeedOf } from '../../schemas/feed.js'
import { toDays } from '../../schemas/lint/finding.js'
import type { RateBook, RateFeed, RateRow } from '../../schemas/rating/rate-book.js'
import type { RecordFeed } from '../../schemas/record-feed.js'
import { asRow, type Selected, toRow } from '../records/schedules.js'
import type { Store } from '../store/clickhouse.js'
import { id, sql } from '../store/sql.js'

/** The rates in force and their files. */
export interface RatesInForce {
  readonly book: RateBook
  readonly fileIds: readonly string[]
}

const rateFeeds = ['RateTou', 'RateTiers', 'RateFlat', 'RateFixed'] as const satisfies RateFeed[]

/** Reads all rates of some companies: some dozens of codes with some dozens of rows each. */
export async function readRates(
  store: Store,
  companyCodes: readonly string[],
): Promise<RatesInForce> {
  const read = (feed: string) => readRows(store, feed, companyCodes)
  const [codes, holidays, ...priced] = await Promise.all([
    read('RateCodes'),
    read('Holidays'),
    ...rateFeeds.map(read),
  ])
  const byFeed = new Map(rateFeeds.map((feed, at) => [feed as RateFeed, byCode(priced[at] ?? [])]))
  const days = new Map(
    [...byCode(holidays)].map(([code, rows]) => [
      code,
      rows.map(({ row }) => toDays(row['Date'] ?? '')),
    ]),
  )
  const all = [codes, holidays, ...priced].flat()
  return {
    book: {
      codes: new Map(codes.map((one) => [one.row['RateCode'] ?? '', one])),
      rows: (feed, rateCode) => byFeed.get(feed)?.get(rateCode) ?? [],
      holidays: (rateCode) => new Set([...(days.get('') ?? []), ...(days.get(rateCode) ?? [])]),
    },
    fileIds: [...new Set(all.map(({ fileId }) => fileId))].sort(),
  }
}

async function readRows(
  store: Store,
  name: string,
  companyCodes: readonly string[],
): Promise<readonly RateRow[]> {
  const feed = recordFeedOf(name) as RecordFeed
  const rows = await store.rows<Selected>({
    sql: sql`SELECT toString(version) AS at, file_id AS of_file, ${asRow(feed)} FROM ${id(feed.view)}
      WHERE company_code IN ${companyCodes} ORDER BY version`,
  })
  return rows.map((found) => ({
    fileName: name,
    line: Number(BigInt(found['at'] ?? 0) & 0xffffffffn),
    fileId: found['of_file'] ?? '',
    row: toRow(feed, found),
  }))
}

function byCode(rows: readonly RateRow[]): ReadonlyMap<string, readonly RateRow[]> {
  const groups = new Map<string, RateRow[]>()
  for (const one of rows) {
    const code = one.row['RateCode'] ?? ''
    const group = groups.get(code)
    if (group === undefined) groups.set(code, [one])
    else group.push(one)
  }
  return groups
}

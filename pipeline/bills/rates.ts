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

interface Kept extends RatesInForce {
  readonly companyCodes: string
  readonly seq: number
}

/** What was read last from a store: the rates of a utility change a few times a year. */
const kept = new WeakMap<Store, Kept>()

/**
 * Reads all rates of some companies: some dozens of codes with some dozens of rows each. They are kept
 * until a schedule is published, since the views of rates take the engine longer than many a run.
 */
export async function readRates(
  store: Store,
  companyCodes: readonly string[],
): Promise<RatesInForce> {
  const seq = await lastPublished(store)
  const names = companyCodes.join()
  const known = kept.get(store)
  if (known?.seq === seq && known.companyCodes === names) return known
  const { newest, ...rates } = await readNow(store, companyCodes)
  // A replica that lags may not have shown the rows of that publication yet.
  if (newest === seq) kept.set(store, { ...rates, companyCodes: names, seq })
  return rates
}

/** The number of the latest publication of a schedule of rates. */
async function lastPublished(store: Store): Promise<number> {
  const feeds = ['RateCodes', 'Holidays', ...rateFeeds]
  const [last] = await store.rows<{ seq: string }>({
    sql: sql`SELECT toString(max(published_seq)) AS seq FROM publication
      WHERE arrival IN (SELECT arrival FROM schedule_version WHERE feed IN ${feeds})`,
  })
  return Number(last?.seq ?? 0)
}

async function readNow(
  store: Store,
  companyCodes: readonly string[],
): Promise<RatesInForce & { readonly newest: number }> {
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
    newest: Math.max(0, ...all.map(({ seq }) => seq)),
  }
}

async function readRows(
  store: Store,
  name: string,
  companyCodes: readonly string[],
): Promise<readonly (RateRow & { readonly seq: number })[]> {
  const feed = recordFeedOf(name) as RecordFeed
  const rows = await store.rows<Selected>({
    sql: sql`SELECT toString(version) AS at, file_id AS of_file, toString(published_seq) AS seq,
        ${asRow(feed)}
      FROM ${id(feed.view)}
      WHERE company_code IN ${companyCodes} ORDER BY version`,
  })
  return rows.map((found) => ({
    fileName: name,
    line: Number(BigInt(found['at'] ?? 0) & 0xffffffffn),
    fileId: found['of_file'] ?? '',
    seq: Number(found['seq'] ?? 0),
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

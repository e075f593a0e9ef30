import { recordFeedOf } from '../../schemas/feed.js'
import { toDays } from '../../schemas/lint/finding.js'
import type { CodeRow, RateBook, RateFeed, RateRow } from '../../schemas/rating/rate-book.js'
import type { RecordFeed } from '../../schemas/record-feed.js'
import { asRow, isNotReplaced, type Selected, toRow } from '../records/schedules.js'
import { rowsTable } from '../records/store.js'
import type { Store } from '../store/clickhouse.js'
import type { RowReader } from '../store/replicas.js'
import { id, literal, sql } from '../store/sql.js'

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
 * Reads all rates of some companies: some dozens of codes with some dozens of rows each. They are kept until
 * a schedule is published or repaired, since the views of rates take the engine longer than many a run. They are of
 * several tables, so a run names the server that has all of them.
 */
export async function readRates(
  store: Store,
  companyCodes: readonly string[],
  server: RowReader = store,
): Promise<RatesInForce> {
  const { seq, version, isRepairing } = await lastPublished(server)
  const names = companyCodes.join()
  const known = kept.get(store)
  if (known?.seq === seq && known.companyCodes === names) return known
  const { newest, ...rates } = await readNow(server, companyCodes)
  // Of a set that was published meanwhile some files may be read, and others not.
  if ((await lastPublished(server)).seq !== seq) return readRates(store, companyCodes, server)
  // A replica that lags may not have shown the rows of that publication yet.
  if (newest === version && !isRepairing) kept.set(store, { ...rates, companyCodes: names, seq })
  return rates
}

const versions = sql`SELECT arrival FROM schedule_version WHERE feed IN ${['RateCodes', 'Holidays', ...rateFeeds]}`

/** Publications that change rates: of versions of their schedules, and of files that bring rows of them back. */
export const ratePublications = sql`SELECT *, arrival IN (SELECT arrival FROM arrival WHERE repairs IN (${versions})) AS is_repair
    FROM publication WHERE is_repair OR arrival IN (${versions})`

/** So long after a repair a replica may not show its rows yet: they have the numbers of their files. */
const repairingMinutes = 10

interface Published {
  /** The number of the latest publication of a schedule of rates, or of a repair of one. */
  readonly seq: number
  /** The same without repairs. */
  readonly version: number
  readonly isRepairing: boolean
}

async function lastPublished(store: RowReader): Promise<Published> {
  const [last] = await store.rows<{ seq: string; version: string; isRepairing: number }>({
    sql: sql`SELECT toString(max(published_seq)) AS seq, toString(maxIf(published_seq, NOT is_repair)) AS version,
        maxIf(published_at, is_repair) > now() - toIntervalMinute(${literal(repairingMinutes)}) AS isRepairing
      FROM (${ratePublications})`,
  })
  return {
    seq: Number(last?.seq ?? 0),
    version: Number(last?.version ?? 0),
    isRepairing: Boolean(last?.isRepairing),
  }
}

async function readNow(
  store: RowReader,
  companyCodes: readonly string[],
): Promise<RatesInForce & { readonly newest: number }> {
  const read = (feed: string) => readRows(store, feed, companyCodes)
  const [codes, holidays, ...priced] = await Promise.all([
    readCodes(store, companyCodes),
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
  store: RowReader,
  name: string,
  companyCodes: readonly string[],
): Promise<readonly (RateRow & { readonly seq: number })[]> {
  const feed = recordFeedOf(name) as RecordFeed
  const during =
    feed.schedule?.everyYear === true
      ? sql`toString(toUInt32(in_force_from)) AS of_from, toString(toUInt32(in_force_to)) AS of_to,`
      : sql``
  const rows = await store.rows<Selected>({
    sql: sql`SELECT ${placed}, ${during} ${asRow(feed)} FROM ${id(feed.view)}
      WHERE company_code IN ${companyCodes} ORDER BY version`,
  })
  return rows.map((found) => toRateRow(feed, found))
}

/** Each code as the latest file that has it says: bills of days before it was retired need it. */
async function readCodes(
  store: RowReader,
  companyCodes: readonly string[],
): Promise<readonly (CodeRow & { readonly seq: number })[]> {
  const feed = recordFeedOf('RateCodes') as RecordFeed
  const rows = await store.rows<Selected>({
    sql: sql`SELECT ${placed}, toString(NOT (${isNotReplaced})) AS retired, ${asRow(feed)}
      FROM ${id(rowsTable(feed))} AS r
      INNER JOIN (SELECT * FROM schedule_in_force WHERE feed = ${feed.name} AND code = '') AS f
        ON f.arrival = bitShiftRight(r.version, 32)
      WHERE company_code IN ${companyCodes}
      ORDER BY version DESC LIMIT 1 BY company_code, rate_code`,
  })
  return rows
    .map((found) => ({ ...toRateRow(feed, found), isRetired: found['retired'] === '1' }))
    .reverse()
}

const placed = sql`toString(version) AS at, file_id AS of_file, toString(published_seq) AS seq`

function toRateRow(feed: RecordFeed, found: Selected): RateRow & { readonly seq: number } {
  return {
    fileName: feed.name,
    line: Number(BigInt(found['at'] ?? 0) & 0xffffffffn),
    fileId: found['of_file'] ?? '',
    seq: Number(found['seq'] ?? 0),
    row: toRow(feed, found),
    ...(found['of_from'] && {
      during: { from: Number(found['of_from']), to: Number(found['of_to']) },
    }),
  }
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

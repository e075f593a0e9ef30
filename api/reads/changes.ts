import { literal, type Sql, sql, typed } from '../../pipeline/store/sql.js'
import type { ChangesQuery } from '../../schemas/gateway/reads.js'
import { daysBehind, type PeriodClock } from '../../schemas/rating/slots.js'
import { badQuery, type Reading } from './reading.js'
import type { ReadSource } from './source.js'

export interface ChangesContext {
  readonly source: ReadSource
  /** Waits until the server has what was written at other replicas: none shows a number before its reads. */
  readonly catchUp: () => Promise<void>
  readonly pageMax: number
  readonly periodClock: PeriodClock
}

/** Changes behind this place are wanted: all of later publications, and of this one by their hash. */
interface Place {
  readonly seq: number
  /** A 64-bit number as text. */
  readonly hash: string
}

/** Publications that a page looks at, so that it is bounded in what it reads. */
const publicationsMax = 100
/** `usage_change` keeps 400 days; a day of them is left for the pull. */
const keptDays = 399
/** Behind all changes of a publication. */
const lastHash = '18446744073709551615'

/**
 * A page of what has changed for customers after a number, in the order of publication: days of meters
 * whose reads came with a file, days that `usage_change` lists, and days whose bills were computed. Without
 * `since` it has only the number from which to pull. Returns `gone` if changes after `since` are older than what
 * is kept, or if `since` is above the newest number, as after the restore of a backup.
 */
export async function readChanges(
  { source, catchUp, pageMax, periodClock }: ChangesContext,
  { since, cursor }: ChangesQuery,
): Promise<Reading> {
  const place = placeOf({ since, cursor })
  if (place === undefined) return badQuery('cursor: use the cursor of an answer')
  await catchUp()
  const window = await readWindow(source, place)
  if (since === undefined && cursor === undefined) return toReading(window.newest, null, [])
  if (!window.isKept || place.seq > window.newest) return { kind: 'gone' }
  const upto = Math.min(window.newest, place.seq + publicationsMax)
  const lines = await source.lines({
    sql: changesSql({ place, window, upto, pageMax, periodClock }),
  })
  const cut = lines.length < pageMax ? undefined : lastPlace(lines.at(-1) ?? '')
  if (cut !== undefined) return toReading(cut.seq - 1, toCursorText(cut), lines)
  const hasMore = upto < window.newest
  return toReading(upto, hasMore ? toCursorText({ seq: upto, hash: lastHash }) : null, lines)
}

function placeOf({ since, cursor }: ChangesQuery): Place | undefined {
  if (cursor === undefined) return { seq: Number(since ?? 0), hash: lastHash }
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const [, seq, hash] = /^(\d{1,15})\.(0|[1-9]\d{0,19})$/.exec(text) ?? []
  return hash === undefined || BigInt(hash) > BigInt(lastHash)
    ? undefined
    : { seq: Number(seq), hash }
}

function toCursorText({ seq, hash }: Place): string {
  return Buffer.from(`${seq}.${hash}`).toString('base64url')
}

const hashField = /,"hash":"(\d+)"\}$/

function lastPlace(line: string): Place {
  const seq = /"publishedSeq":(\d+)/.exec(line)?.[1]
  return { seq: Number(seq), hash: hashField.exec(line)?.[1] ?? '0' }
}

function toReading(publishedSeq: number, cursor: string | null, lines: readonly string[]): Reading {
  const changes = lines.map((line) => line.replace(hashField, '}')).join(',')
  const head = JSON.stringify({ publishedSeq, cursor })
  return { kind: 'found', body: `${head.slice(0, -1)},"changes":[${changes}]}` }
}

interface Window {
  readonly newest: number
  /** Whether all changes after the place are still kept. */
  readonly isKept: boolean
  /** Versions of the reads of the files in the window: from, and up to, exclusive. */
  readonly from: string
  readonly upto: string
}

/** The newest number, and which reads the next publications have brought. */
async function readWindow(source: ReadSource, { seq }: Place): Promise<Window> {
  const [window] = await source.rows<Window>({
    sql: sql`SELECT toUInt32(max(published_seq)) AS newest,
        countIf(published_seq > ${seq} AND published_at < now() - toIntervalDay(${literal(keptDays)})) = 0 AS isKept,
        toString(bitShiftLeft(toUInt64(minIf(arrival, ${isNext(seq)})), 32)) AS from,
        toString(bitShiftLeft(toUInt64(maxIf(arrival, ${isNext(seq)})) + 1, 32)) AS upto
      FROM publication`,
  })
  return window as Window
}

/** Publications of the window that brought a file, that of the place among them. */
function isNext(seq: number): Sql {
  return sql`arrival != 0 AND published_seq >= ${seq} AND published_seq <= ${seq + publicationsMax}`
}

interface PageWanted extends Pick<ChangesContext, 'pageMax' | 'periodClock'> {
  readonly place: Place
  readonly window: Window
  readonly upto: number
}

/** Changes of one meter in one publication have the same hash and are not divided by a page. */
function changesSql({ place: { seq, hash }, window, upto, ...page }: PageWanted): Sql {
  const [from, to] = [typed('UInt64', seq), typed('UInt64', upto)]
  return sql`SELECT toUInt32(published_seq) AS publishedSeq,
      formatDateTime(toDateTime(published_at, 'UTC'), '%Y-%m-%dT%H:%i:%SZ') AS publishedAt, meter_id AS meterId,
      toString(first_day) AS firstDay, toString(last_day) AS lastDay, before AS clientIdsBefore, after AS clientIds, cause,
      toString(cityHash64(meter_id)) AS hash
    FROM
    (
      SELECT published_seq, published_at, meter_id, local_day AS first_day, last_local_day AS last_day,
        client_ids_before AS before, client_ids_after AS after, cause
      FROM usage_change WHERE published_seq BETWEEN ${from} AND ${to}
      UNION ALL
      SELECT p.published_seq, p.published_at, u.meter_id, min(u.local_day), max(u.local_day),
        arraySort(groupUniqArrayArray(u.client_ids)) AS owners, owners, 'read'
      FROM
      (
        SELECT * FROM registered_usage
        WHERE version >= ${typed('UInt64', window.from)} AND version < ${typed('UInt64', window.upto)}
      ) AS u
      INNER JOIN (SELECT * FROM publication WHERE arrival != 0 AND published_seq BETWEEN ${from} AND ${to}) AS p
        ON p.arrival = bitShiftRight(u.version, 32)
      GROUP BY p.published_seq, p.published_at, u.meter_id
      UNION ALL
      SELECT r.published_seq, r.published_at, b.meter_id, min(b.start_date), max(b.last_date) + ${literal(daysBehind(page.periodClock))},
        arraySort(groupUniqArrayArray(b.client_ids)) AS owners, owners, 'cost'
      FROM bill_row AS b
      INNER JOIN (SELECT * FROM bill_run_current WHERE published_seq BETWEEN ${from} AND ${to}) AS r ON r.run = b.run
      WHERE b.run IN (SELECT run FROM publication WHERE run != '' AND published_seq BETWEEN ${from} AND ${to})
      GROUP BY r.published_seq, r.published_at, b.meter_id
    )
    WHERE (published_seq, cityHash64(meter_id)) > (${from}, ${typed('UInt64', hash)})
    ORDER BY published_seq, cityHash64(meter_id) LIMIT ${page.pageMax} WITH TIES`
}

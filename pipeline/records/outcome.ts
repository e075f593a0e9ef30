import { type RecordFeed, storeColumn } from '../../schemas/record-feed.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Notes } from '../ledger/file-state.js'
import type { Counted } from '../ledger/sums.js'
import type { Statement, Store } from '../store/clickhouse.js'
import { id, join, type Sql, sql } from '../store/sql.js'
import { type Decision, derivedOf } from '../store/staging.js'
import { versionOf } from '../store/versions.js'
import { repairedVersion } from '../verify/repaired.js'
import { createRecordTable, isEnd, keyOf, recordSum, rowsTable, storedOf } from './store.js'

type Estimates = Profile['usage']['estimates']

/** Whether a row gives way to others of its key. */
function yieldsOf({ yields }: RecordFeed, estimates: Estimates): Sql {
  if (yields === undefined || estimates === 'replace') return sql`false`
  return sql`${id(storeColumn(yields.column))} = ${yields.text}`
}

/** All values of a row as one text, by which rows are equal or not. */
function valuesOf({ columns, key }: RecordFeed): Sql {
  const values = columns.filter((column) => !key.includes(column)).map(storeColumn)
  return sql`toString(tuple(${join([...values.map((column) => id(column)), sql`''`], sql`, `)}))`
}

/** What becomes of the staged rows of a file, beside those that are accepted as new. */
const recordKinds = [
  'unregistered',
  'repeated',
  'replaced',
  'duplicate',
  'superseded',
  'outranked',
  'restated',
] as const
export type RecordKind = (typeof recordKinds)[number]

export type RecordOutcome = Readonly<Record<RecordKind, Counted>> & { readonly net: string }

/**
 * Records the outcome of each staged row that is not simply new (decision 22):
 * within the file the last row of a key survives, of those that yield to no other; a survivor that the
 * store has already, or has from a later arrival, is not published again. `isForeign` is the condition
 * of rows that the profile does not store. A file that repairs another one is held against what was
 * published before that.
 */
export async function classifyRecords(
  store: Store,
  feed: RecordFeed,
  file: Decision & {
    readonly isForeign: Sql | undefined
    readonly estimates: Estimates
    readonly notes?: Notes
  },
): Promise<RecordOutcome> {
  const { whole, overlaps: outcomes } = derivedOf(file)
  const [reads, overlaps] = [id(whole), id(outcomes)]
  const key = keyOf(feed)
  const yields = yieldsOf(feed, file.estimates)
  await store.command(createOverlaps(file))
  const note = (select: Sql) => store.command({ sql: sql`INSERT INTO ${overlaps} ${select}` })
  const left = sql`${reads} WHERE version NOT IN (SELECT version FROM ${overlaps})`
  if (file.isForeign !== undefined) {
    await note(sql`SELECT version, 'unregistered', 0 FROM ${reads} WHERE ${file.isForeign}`)
  }
  await note(sql`SELECT one.1, if(one.2 = last.2, 'repeated', 'replaced'), 0
    FROM (
      SELECT arraySort(row -> (row.3, -toInt128(row.1)), groupArray((version, ${valuesOf(feed)}, ${yields}))) AS rows,
        rows[1] AS last, arrayJoin(arraySlice(rows, 2)) AS one
      FROM ${left} AND (${key}) IN (SELECT ${key} FROM ${reads} GROUP BY ${key} HAVING count() > 1)
      GROUP BY ${key}
    )`)
  await note(sql`SELECT s.version, multiIf(s.all_values = c.all_values AND NOT c.is_over, 'duplicate',
        c.version > s.own_version, 'superseded', s.yields AND NOT c.yields, 'outranked', 'restated'), c.version
    FROM (SELECT ${key}, version, ${repairedVersion({ notes: {}, ...file })} AS own_version,
        ${valuesOf(feed)} AS all_values, ${yields} AS yields FROM ${left}) AS s
    INNER JOIN (
      SELECT ${key}, version, ${valuesOf(feed)} AS all_values, ${yields} AS yields, ${isEnd(feed)} AS is_over
      FROM (${storedOf(feed, file)})
    ) AS c USING (${key})
    WHERE NOT c.is_over OR c.version > s.own_version`)
  return sumKinds(store, feed, file)
}

/** What the sender says of periods that are not as the meter sent them, and of how many. */
export async function countQualities(
  store: Store,
  { yields }: RecordFeed,
  decision: Decision,
): Promise<readonly string[]> {
  if (yields === undefined) return []
  const column = id(storeColumn(yields.column))
  const rows = await store.rows<{ quality: string; found: string }>({
    sql: sql`SELECT ${column} AS quality, toString(count()) AS found FROM ${id(derivedOf(decision).whole)}
      WHERE ${column} != 'asSent' GROUP BY quality ORDER BY quality`,
  })
  return rows.map(({ quality, found }) => `periods ${quality} by the sender: loaded: ${found}`)
}

/** Writes down lines of a file that only repeat others of it. */
export async function noteRepeated(
  store: Store,
  decision: Decision,
  lines: readonly number[],
): Promise<void> {
  await store.command(createOverlaps(decision))
  const rows = lines.map((line) => ({
    version: versionOf(decision.arrival, line).toString(),
    kind: 'repeated',
    old_version: '0',
  }))
  await store.insert(derivedOf(decision).overlaps, rows)
}

function createOverlaps(decision: Decision): Statement {
  return {
    sql: sql`CREATE OR REPLACE TABLE ${id(derivedOf(decision).overlaps)}
      (version UInt64, kind String, old_version UInt64) ENGINE = MergeTree ORDER BY version`,
  }
}

async function sumKinds(
  store: Store,
  feed: RecordFeed,
  decision: Decision,
): Promise<RecordOutcome> {
  const { whole, overlaps: outcomes } = derivedOf(decision)
  const [reads, overlaps] = [id(whole), id(outcomes)]
  const [all, old] = await Promise.all([
    store.rows<{ kind: string; rows: string; quantity: string }>({
      sql: sql`SELECT o.kind AS kind, toString(count()) AS rows, ${recordSum(feed, 's')} AS quantity
        FROM ${reads} AS s INNER JOIN ${overlaps} AS o ON o.version = s.version GROUP BY kind`,
    }),
    store.rows<{ quantity: string }>({
      sql: sql`SELECT ${recordSum(feed)} AS quantity FROM (
          SELECT * FROM ${id(rowsTable(feed))}
          WHERE version IN (SELECT old_version FROM ${overlaps} WHERE kind = 'restated')
          LIMIT 1 BY version
        )`,
    }),
  ])
  const counted = (kind: string): Counted => {
    const found = all.find((one) => one.kind === kind)
    return { rows: Number(found?.rows ?? 0), quantity: found?.quantity ?? '0' }
  }
  const kinds = Object.fromEntries(recordKinds.map((kind) => [kind, counted(kind)]))
  return {
    ...(kinds as Record<RecordKind, Counted>),
    net: old[0]?.quantity ?? '0',
  }
}

/** Copies into `final` the rows that are to be published, so that nothing else is. */
export async function keepRecords(
  store: Store,
  feed: RecordFeed,
  file: Decision & { readonly without: readonly RecordKind[]; readonly notes?: Notes },
): Promise<void> {
  const { whole, overlaps, final } = derivedOf(file)
  await store.command(createRecordTable(feed, final, 'replace'))
  await store.command({
    sql: sql`INSERT INTO ${id(final)}
      SELECT * REPLACE(${repairedVersion({ notes: {}, ...file })} AS version)
      FROM (SELECT * FROM ${id(whole)} WHERE version NOT IN (
        SELECT version FROM ${id(overlaps)} WHERE kind IN ${file.without}))`,
    settings: { optimize_on_insert: 0 },
  })
}

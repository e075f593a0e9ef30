import { addCounted, type Counted, noneCounted, toMicros } from '../ledger/sums.js'
import type { Store } from '../store/clickhouse.js'
import { id, join, literal, type Sql, sql } from '../store/sql.js'
import { arrivalOf } from '../store/versions.js'
import { daySteps } from '../usage/days/steps.js'
import { readEnds } from './ends.js'
import {
  type CountedTable,
  countedTables,
  currentOf,
  usageTable,
  visibleEntries,
} from './entries.js'

/** An arrival of which other rows are stored than its entries say. */
export interface Difference {
  readonly arrival: number
  readonly table: string
  readonly expected: Counted
  readonly stored: Counted
}

export interface RowCounts {
  readonly arrivals: number
  readonly rows: number
  /** Fewer rows than recorded, or as many with another control total. */
  readonly differences: readonly Difference[]
}

interface Expected extends Counted {
  readonly table: string
}

/**
 * Compares the stored rows of each published arrival with its entries. An arrival whose entries change
 * meanwhile is compared with the lower of both sums. Reads are counted in steps of whole days. `only`
 * names the arrivals to count; all by default.
 */
export async function countRowsByArrival(
  store: Store,
  only?: readonly number[],
): Promise<RowCounts> {
  const before = await readExpected(store, only)
  const stored = new Map<number, Counted>()
  const ofOnly = only === undefined ? sql`1` : sql`${arrivalOf} IN ${literal(only)}`
  for (const { within } of await daySteps(store)) {
    const where = sql`${within} AND ${ofOnly}`
    await addStored(store, { tables: [usageTable], where }, stored)
  }
  const tables = countedTables.filter((counted) => counted !== usageTable)
  await addStored(store, { tables, where: ofOnly }, stored)
  const after = await readExpected(store, only)
  const ends = await readEnds(store, only)
  const differences = [...before].flatMap(([arrival, then]): readonly Difference[] => {
    const now = after.get(arrival) ?? then
    const { table, ...expected } = now.rows < then.rows ? now : then
    const found = stored.get(arrival) ?? noneCounted
    if (differ(expected, found)) return [{ arrival, table, expected, stored: found }]
    const { rows = 0, lost = 0 } = (table === usageTable.table && ends.get(arrival)) || {}
    if (lost === 0) return []
    return [
      {
        arrival,
        table,
        expected: { ...noneCounted, rows },
        stored: { ...noneCounted, rows: rows - lost },
      },
    ]
  })
  const rows = [...before.values()].reduce((sum, one) => sum + one.rows, 0)
  return { arrivals: before.size, rows, differences }
}

function differ(expected: Counted, stored: Counted): boolean {
  if (stored.rows !== expected.rows) return stored.rows < expected.rows
  return toMicros(stored.quantity) !== toMicros(expected.quantity)
}

/** The rows of each published arrival that must be stored. */
async function readExpected(
  store: Store,
  only: readonly number[] | undefined,
): Promise<ReadonlyMap<number, Expected>> {
  const of = only === undefined ? sql`1` : sql`arrival IN ${literal(only)}`
  const found = await store.rows<{ of: number; table: string; rows: string; quantity: string }>({
    sql: sql`SELECT e.arrival AS of, any(target) AS table, toString(sum(e.rows)) AS rows,
        toString(sum(e.quantity)) AS quantity
      FROM (SELECT * FROM published_rows FINAL WHERE ${of}) AS e
      WHERE ${visibleEntries}
      GROUP BY of`,
  })
  return new Map(found.map(({ of, rows, ...one }) => [of, { ...one, rows: Number(rows) }]))
}

/** Adds what the rows of some tables sum up to, by arrival: of all tables in one statement. */
async function addStored(
  store: Store,
  { tables, where }: { readonly tables: readonly CountedTable[]; readonly where: Sql },
  stored: Map<number, Counted>,
): Promise<void> {
  const sums = tables.map(({ table, total }) => {
    return sql`SELECT ${arrivalOf} AS of, toString(count()) AS rows,
        toString(sum(toDecimal128(${total}, 6))) AS quantity
      FROM ${currentOf(table)} WHERE ${where} GROUP BY of`
  })
  const found = await store.rows<{ of: number; rows: string; quantity: string }>({
    sql: join(sums, sql` UNION ALL `),
  })
  for (const { of, rows, quantity } of found) {
    const counted = { rows: Number(rows), quantity }
    stored.set(of, addCounted(stored.get(of) ?? noneCounted, counted))
  }
}

/** Something that the ledger lacks. */
export interface LedgerGap {
  /** What it lacks, the same while more of it is lost. */
  readonly subject: string
  /** Numbers that are missing; 0 where it is not about numbers. */
  readonly rows: number
  readonly detail: string
}

/** Published files whose entries are gone, and numbers that are missing in the ledger. */
export async function findLedgerGaps(store: Store): Promise<readonly LedgerGap[]> {
  const gaps = (['arrival', 'publication'] as const).map(
    (
      table,
    ) => sql`SELECT concat('numbers of ', ${table}) AS subject, toFloat64(last - numbers) AS rows,
        concat(toString(last - numbers), ' of ', toString(last), ' numbers of ', ${table}, ' are missing') AS detail
      FROM (SELECT uniqExact(number) AS numbers, max(number) AS last
        FROM (SELECT toUInt64(${id(table === 'arrival' ? 'arrival' : 'published_seq')}) AS number FROM ${id(table)}))
      WHERE numbers != last`,
  )
  return store.rows<LedgerGap>({
    sql: sql`${join(gaps, sql` UNION ALL `)}
      UNION ALL
      SELECT concat('rows of arrival ', toString(arrival)), 0,
        concat('the rows of ', file_name, ' (arrival ', toString(arrival), ') are not recorded')
      FROM file_state FINAL
      WHERE status = 'published' AND rows_accepted > 0
        AND arrival NOT IN (SELECT arrival FROM published_rows)
        AND arrival NOT IN (SELECT cause FROM published_rows WHERE kind = 'repaired')
      UNION ALL
      SELECT concat('state of arrival ', toString(arrival)), 0,
        concat('the state of arrival ', toString(arrival), ' is gone, although it was published')
      FROM publication WHERE arrival != 0 AND arrival NOT IN (SELECT arrival FROM file_state)`,
  })
}

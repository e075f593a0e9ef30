import type { FileState } from '../ledger/file-state.js'
import type { Store } from '../store/clickhouse.js'
import { id, type Sql, sql } from '../store/sql.js'
import { derivedOf, stagingOf } from '../store/staging.js'
import { arrivalOf } from '../store/versions.js'

/** Which tables of a file have what its verdict took from the stored reads. */
export interface TakenFromStore {
  readonly hasLengths: boolean
  readonly hasHours: boolean
}

/**
 * A number for what a verdict took from the stored reads: lengths of intervals, and the hours of the
 * repeated hour. Two verdicts on the same bytes that have the same number store the same keys. Empty if
 * the bytes alone decided.
 */
export async function takenFromStore(
  store: Store,
  state: Pick<FileState, 'arrival' | 'decision'>,
  { hasLengths, hasHours }: TakenFromStore,
): Promise<string> {
  const { choices } = stagingOf(state.arrival)
  const { repairs } = derivedOf(state)
  const hashes = [
    hasLengths && sumHashes(store, lengthColumns, repairs),
    hasHours && sumHashes(store, sql`bitAnd(version, 4294967295), second, rejected`, choices),
  ]
  const found = await Promise.all(hashes)
  return found.some((hash) => hash !== false) ? found.map((hash) => hash || '').join('-') : ''
}

/** The same number for each arrival of a group of which lengths were taken from the stored reads. */
export async function takenByArrival(
  store: Store,
  group: Pick<FileState, 'arrival' | 'decision'>,
): Promise<ReadonlyMap<number, string>> {
  const rows = await store.rows<{ found: number; hash: string }>({
    sql: sql`SELECT found, hex(sum(cityHash64(${lengthColumns}))) AS hash
      FROM ${id(derivedOf(group).repairs)} AS r
      INNER JOIN (
        SELECT meter_id, max(${arrivalOf}) AS found FROM ${id(stagingOf(group.arrival).reads)}
        GROUP BY meter_id
      ) AS m USING meter_id
      GROUP BY found`,
  })
  return new Map(rows.map(({ found, hash }) => [found, `${hash}-`]))
}

const lengthColumns = sql`meter_id, day, seconds`

async function sumHashes(store: Store, columns: Sql, table: string): Promise<string> {
  const [found] = await store.rows<{ hash: string }>({
    sql: sql`SELECT hex(sum(cityHash64(${columns}))) AS hash FROM ${id(table)}`,
  })
  return found?.hash ?? ''
}

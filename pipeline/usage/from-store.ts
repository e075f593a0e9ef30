import type { FileState } from '../ledger/file-state.js'
import type { Store } from '../store/clickhouse.js'
import { id, type Sql, sql } from '../store/sql.js'
import { derivedOf } from '../store/staging.js'
import { arrivalOf } from '../store/versions.js'

/** Which tables of a file have what its verdict took from the stored reads. */
export interface TakenFromStore {
  readonly hasLengths: boolean
  readonly hasHours: boolean
}

/**
 * A number for what a verdict took from the stored reads: lengths of intervals, and the hours of the
 * repeated hour. Two verdicts on the same bytes that have the same number store the same keys. Empty if
 * the bytes alone decided. Lengths that nothing proved are left out: they are recorded by themselves.
 */
export async function takenFromStore(
  store: Store,
  state: Pick<FileState, 'arrival' | 'decision' | 'notes'>,
  { hasLengths, hasHours }: TakenFromStore,
): Promise<string> {
  const { repairs, choices } = derivedOf(state)
  const hashes = [
    hasLengths && sumHashes(store, lengthColumns, sql`${id(repairs)} WHERE ${isProved(state)}`),
    hasHours && sumHashes(store, sql`bitAnd(version, 4294967295), second, rejected`, id(choices)),
  ]
  const found = await Promise.all(hashes)
  return found.some((hash) => hash) ? found.map((hash) => hash || '').join('-') : ''
}

/** The condition of meters of which a verdict guesses no length, or in a repair the first verdict. */
function isProved(state: Pick<FileState, 'arrival' | 'decision' | 'notes'>): Sql {
  const { repairs, provisionalMeters } = state.notes
  if (repairs !== undefined)
    return sql`meter_id NOT IN (SELECT meter_id FROM provisional_length WHERE arrival = ${repairs})`
  if (provisionalMeters === undefined) return sql`1`
  return sql`meter_id NOT IN (SELECT meter_id FROM ${id(derivedOf(state).provisional)})`
}

/** The same number for each arrival of a group of which lengths were taken from the stored reads. */
export async function takenByArrival(
  store: Store,
  group: Pick<FileState, 'arrival' | 'decision' | 'notes'>,
): Promise<ReadonlyMap<number, string>> {
  const rows = await store.rows<{ found: number; hash: string }>({
    sql: sql`SELECT found, hex(sum(cityHash64(${lengthColumns}))) AS hash
      FROM ${id(derivedOf(group).repairs)} AS r
      INNER JOIN (
        SELECT meter_id, max(${arrivalOf}) AS found FROM ${id(derivedOf(group).whole)}
        GROUP BY meter_id
      ) AS m USING meter_id
      WHERE ${isProved(group)} GROUP BY found`,
  })
  return new Map(rows.map(({ found, hash }) => [found, `${hash}-`]))
}

const lengthColumns = sql`meter_id, day, seconds`

async function sumHashes(store: Store, columns: Sql, from: Sql): Promise<string> {
  const [found] = await store.rows<{ hash: string }>({
    sql: sql`SELECT if(count() = 0, '', hex(sum(cityHash64(${columns})))) AS hash FROM ${from}`,
  })
  return found?.hash ?? ''
}

import { type RecordFeed, storeColumn } from '../../schemas/record-feed.js'
import { foreignRows } from '../customers/registered.js'
import type { FileState } from '../ledger/file-state.js'
import type { Store } from '../store/clickhouse.js'
import { id, type Sql, sql } from '../store/sql.js'
import { derivedOf } from '../store/staging.js'
import { repairedVersion } from '../verify/repaired.js'
import { isEnd, keyOf, rowsTable, storedOf } from './store.js'

type Decided = Pick<FileState, 'arrival' | 'decision' | 'notes'>

/** The keys of a file whose last row is not stored, although its feed knows no account by the key. */
function movedKeys(feed: RecordFeed, file: Decided, isForeign: Sql): Sql {
  return sql`SELECT ${keyOf(feed)}, max(version) AS last_version FROM ${id(derivedOf(file).whole)}
    GROUP BY ${keyOf(feed)} HAVING argMax(${isForeign}, version)`
}

/** The condition of rows that are not stored: those of foreign accounts, and what these replace within the file. */
export function isLeftOut(feed: RecordFeed, state: Decided, isForeign: Sql): Sql {
  if (feed.moves !== true) return isForeign
  return sql`(${isForeign} OR (${keyOf(feed)}) IN (
      SELECT ${keyOf(feed)} FROM (${movedKeys(feed, state, isForeign)})))`
}

/**
 * Finds the stored rows that a file moves to accounts whose rows are not stored (decision 21), notes them in the
 * table `overlaps`, and returns how many there are. What is being erased is not stored again behind the erasure.
 */
export async function findEnds(
  store: Store,
  feed: RecordFeed,
  file: Decided & { readonly isForeign: Sql | undefined },
): Promise<number> {
  const { isForeign } = file
  if (feed.moves !== true || isForeign === undefined) return 0
  const overlaps = id(derivedOf(file).overlaps)
  const key = keyOf(feed)
  const columns = feed.columns.map(storeColumn)
  const isErased = (await foreignRows(store, { ingestion: 'full' }, { columns })) ?? sql`false`
  await store.command({
    sql: sql`INSERT INTO ${overlaps} SELECT s.version, 'ended', c.version
      FROM (SELECT ${key}, last_version AS version, ${repairedVersion(file)} AS own_version
        FROM (${movedKeys(feed, file, isForeign)})) AS s
      INNER JOIN (SELECT ${key}, version FROM (${storedOf(feed, file)})
        WHERE NOT (${isEnd(feed)} OR ${isErased})) AS c USING (${key})
      WHERE c.version < s.own_version`,
  })
  const [found] = await store.rows<{ rows: string }>({
    sql: sql`SELECT count() AS rows FROM ${overlaps} WHERE kind = 'ended'`,
  })
  return Number(found?.rows ?? 0)
}

/** Adds to what is published a row that ends the key of each: the stored one under the version of the file's. */
export async function keepEnds(store: Store, feed: RecordFeed, file: Decided): Promise<void> {
  const { overlaps, final } = derivedOf(file)
  const rows = id(rowsTable(feed))
  await store.command({
    sql: sql`INSERT INTO ${id(final)} SELECT r.* REPLACE(o.own_version AS version, true AS is_end)
      FROM (SELECT * FROM ${rows} WHERE version IN (SELECT old_version FROM ${id(overlaps)} WHERE kind = 'ended')
        LIMIT 1 BY version) AS r
      INNER JOIN (SELECT ${repairedVersion(file)} AS own_version, old_version FROM ${id(overlaps)}
        WHERE kind = 'ended') AS o ON o.old_version = r.version`,
    settings: { optimize_on_insert: 0 },
  })
}

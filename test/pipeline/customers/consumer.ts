import type { Store } from '../../../pipeline/store/clickhouse.js'
import { sql, typed } from '../../../pipeline/store/sql.js'

type Row = Readonly<Record<string, unknown>> & { readonly published_seq: string }
const columns = sql`meter_id, local_day, starts_at, seconds, quantity, account_number, client_ids,
  billing_cycle_id, rate_code, published_seq`

/** A consumer that pulls as the guide says: rows by their number, and days that changed. */
export function createConsumer(store: Store) {
  const rows = new Map<string, string>()
  const cursors = { rows: '0', changes: '0' }
  const keyOf = (row: Row) => `${row['meter_id']} ${row['starts_at']} ${row['seconds']}`
  const put = (found: readonly Row[]) => {
    for (const { published_seq: _, ...row } of found) {
      rows.set(keyOf(row as unknown as Row), JSON.stringify(row))
    }
  }
  const select = (where = sql`1`) =>
    store.rows<Row>({
      sql: sql`SELECT ${columns} FROM registered_usage WHERE ${where}`,
    })
  return {
    rows,
    pull: async () => {
      const changes = await store.rows<Record<'seq' | 'meter' | 'first' | 'last', string>>({
        sql: sql`SELECT published_seq AS seq, meter_id AS meter, local_day AS first, last_local_day AS last
          FROM usage_change WHERE published_seq > ${typed('UInt64', cursors.changes)} ORDER BY published_seq`,
      })
      for (const { seq, meter, first, last } of changes) {
        for (const [key, text] of rows) {
          const { meter_id, local_day } = JSON.parse(text)
          if (meter_id === meter && local_day >= first && local_day <= last) rows.delete(key)
        }
        cursors.changes = seq
      }
      const meters = [...new Set(changes.map(({ meter }) => meter))]
      const again = meters.length === 0 ? [] : await select(sql`meter_id IN ${meters}`)
      const isListed = (row: Row) =>
        changes.some(({ meter, first, last }) => {
          const day = String(row['local_day'])
          return row['meter_id'] === meter && day >= first && day <= last
        })
      put(again.filter(isListed))
      const isNew = sql`published_seq > ${typed('UInt64', cursors.rows)}`
      const fresh = await select(
        sql`${isNew} AND version >= (SELECT minOrNull(arrival) * 4294967296 FROM file_load WHERE ${isNew})`,
      )
      put(fresh)
      for (const { published_seq: seq } of fresh) {
        if (BigInt(seq) > BigInt(cursors.rows)) cursors.rows = seq
      }
    },
    /** Rows that are not as readers see them, and rows that are missing or gone. */
    differences: async () => {
      const current = new Map(
        (await select()).map(({ published_seq: _, ...row }) => [
          keyOf(row as unknown as Row),
          JSON.stringify(row),
        ]),
      )
      const keys = [...new Set([...rows.keys(), ...current.keys()])]
      return keys
        .filter((key) => rows.get(key) !== current.get(key))
        .map((key) => ({ has: rows.get(key), isNow: current.get(key) }))
    },
  }
}

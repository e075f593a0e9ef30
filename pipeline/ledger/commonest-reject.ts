import type { Store } from '../store/clickhouse.js'
import { sql } from '../store/sql.js'
import type { FileState } from './file-state.js'

/**
 * A state whose reason names the most frequent cause of the rejected rows, where a file is refused for
 * their number.
 */
export async function withCommonestReject(store: Store, state: FileState): Promise<FileState> {
  if (state.fault !== 'TOO_MANY_REJECTED') return state
  const [found] = await store.rows<{ code: string; column_name: string; rows: string }>({
    sql: sql`SELECT code, column_name, toString(count()) AS rows FROM reject FINAL
      WHERE arrival = ${state.arrival} GROUP BY code, column_name
      ORDER BY count() DESC, code, column_name LIMIT 1`,
  })
  if (found === undefined) return state
  const { code, column_name: column, rows } = found
  const where = column === '' ? '' : ` (${column})`
  const count = `${rows} ${rows === '1' ? 'row' : 'rows'}`
  return {
    ...state,
    reason: `${state.reason}; the most frequent cause is ${code}${where}, ${count}`,
  }
}

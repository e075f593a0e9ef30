import type { Statement } from '../../../pipeline/store/clickhouse.js'
import { bind } from '../../../pipeline/store/sql.js'

/** The text of a statement as it is sent, with a `{name:Type}` for each bound value. */
export function statementText({ sql }: Statement): string {
  return typeof sql === 'string' ? sql : bind(sql).text
}

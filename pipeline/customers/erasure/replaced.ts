import type { Statement } from '../../store/clickhouse.js'
import { id, join, type Sql, sql } from '../../store/sql.js'

/** A table whose rows replace each other, and the column that says of a row that it ends its key. */
export interface Replacing {
  readonly table: string
  readonly key: Sql
  /** Beside the key, `version` and `isEnd`. */
  readonly columns: readonly string[]
  /** Of the rows of a key the one with the highest counts. */
  readonly order: Sql
  /** What finds the keys of some rows in the table, and others with them. */
  readonly near: Sql
  readonly isEnd: Sql
}

/**
 * Ends the keys of rows that an erasure is about to delete where they have replaced rows of others: what these had
 * before does not come back. The row that ends a key is of the account that had it last, so an erasure of that
 * one takes it. Repeating it changes nothing.
 */
export function endReplaced(
  { table, key, columns, order, near, isEnd }: Replacing,
  where: Sql,
): Statement {
  const names = join(
    columns.map((name) => id(name)),
    sql`, `,
  )
  return {
    sql: sql`INSERT INTO ${id(table)} (${key}, ${names}, version, ${isEnd})
      SELECT ${key}, untuple(last_values), last_version, true
      FROM (SELECT ${key}, argMax(version, row_order) AS last_version,
          argMaxIf(tuple(${names}), row_order, NOT is_erased) AS last_values
        FROM (SELECT ${key}, ${names}, version, ${isEnd}, ${order} AS row_order, ${where} AS is_erased FROM ${id(table)}
          WHERE (${near}) IN (SELECT ${near} FROM ${id(table)} WHERE ${where}))
        GROUP BY ${key}
        HAVING argMax(is_erased, row_order) AND NOT min(is_erased) AND NOT argMaxIf(${isEnd}, row_order, NOT is_erased))`,
    settings: { optimize_aggregation_in_order: 1 },
  }
}

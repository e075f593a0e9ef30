import type { Statement } from './clickhouse.js'
import { id, type Sql, sql, typed } from './sql.js'
import { stagedIn } from './staging.js'

/** The order of arrival down to the row: `arrival * 2^32 + line`. */
export function versionOf(arrival: number, line: number): bigint {
  return (BigInt(arrival) << 32n) + BigInt(line)
}

/**
 * Which of the reads under one key counts, as the column `precedence` of `usage_read` has it: those that yield
 * are behind all others, and among equals the latest is the first. `from` names a table or a subquery.
 */
export function precedenceOf(from?: string): Sql {
  const of = (column: string) => (from === undefined ? id(column) : id(from, column))
  return sql`if(${of('yields')}, ${of('version')}, bitOr(${of('version')}, 9223372036854775808))`
}

/** The arrival of a row, by its version. */
export const arrivalOf = sql`toUInt32(bitShiftRight(version, 32))`

/** The condition of the rows of one file. */
export function isOfFile(arrival: number, version = sql`version`): Sql {
  const [from, to] = [versionOf(arrival, 0), versionOf(arrival + 1, 0)]
  return sql`${version} >= ${typed('UInt64', from)} AND ${version} < ${typed('UInt64', to)}`
}

/** Physical lines of a file: `lines` of them, from `line` on. */
export interface ChunkLines {
  readonly arrival: number
  readonly line: number
  readonly lines: number
}

/** The versions that physical lines have, as bounds that the server binds. */
export function lineBounds({ arrival, line, lines }: ChunkLines) {
  return {
    from: versionOf(arrival, line).toString(),
    to: versionOf(arrival, line + lines).toString(),
  }
}

/** The condition that a version lies within bounds. */
export function within(column: Sql, { from, to }: ReturnType<typeof lineBounds>): Sql {
  return sql`${column} >= ${typed('UInt64', from)} AND ${column} < ${typed('UInt64', to)}`
}

function storedLines(lines: ChunkLines, column: Sql): Sql {
  const both = stagedIn(lines.arrival, ['reads', 'repeats'])
  return sql`(SELECT ${column} FROM ${both} WHERE ${within(sql`version`, lineBounds(lines))})`
}

/** Rows in staging of physical lines. */
export function countLines(lines: ChunkLines): Statement {
  const stored = storedLines(lines, sql`version`)
  return { sql: sql`SELECT count() AS rows FROM ${stored}` }
}

/** Those of the physical lines of which no row is in staging, ascending, one UInt32 each. */
export function missingLines({ arrival, line, lines }: ChunkLines): Statement {
  const stored = storedLines({ arrival, line, lines }, sql`bitAnd(version, 4294967295) AS line`)
  return {
    sql: sql`SELECT toUInt32(number) AS line
      FROM numbers(${typed('UInt64', line)}, ${typed('UInt64', lines)})
      WHERE number NOT IN ${stored}
      ORDER BY line`,
  }
}

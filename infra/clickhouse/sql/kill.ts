import { readStatement, startsWith } from './statement.js'

/** A statement that kills another one. */
export interface OwnKill {
  /** The id that the client gave the other statement. */
  readonly queryId: string
  readonly format: string | undefined
}

/**
 * Reads `KILL QUERY WHERE query_id = '...'`, the one form that drivers send and that a reader may use;
 * ASYNC may follow. Any other statement is undefined.
 */
export function readOwnKill(sql: string): OwnKill | undefined {
  if (!startsWith(sql, 'KILL')) return undefined
  const statement = readStatement(sql)
  if (statement.isSeveral || !statement.isPlaced) return undefined
  const formatAt = statement.format?.at ?? statement.end
  const words = statement.tokens
    .filter(({ start }) => start < formatAt)
    .map(({ start, end }) => sql.slice(start, end))
  const queryId = /^'([^'\\]+)'$/.exec(words[5] ?? '')?.[1]
  const others = words.filter((_, index) => index !== 5).join(' ')
  if (queryId === undefined || !/^KILL QUERY WHERE query_id =( ASYNC)?$/i.test(others)) {
    return undefined
  }
  return { queryId, format: statement.format?.name }
}

import type { SpanOf } from '../../schemas/tracer.js'

const kind = /^(?:\s|--[^\n]*\n)*([a-z]+)/i
/** The first table that is named; a function in its place, or a parameter, is none. */
const table =
  /\b(?:(?:INTO(?:\s+TABLE)?|TABLE(?:\s+IF(?:\s+NOT)?\s+EXISTS)?)\s+`?(?:\w+`?\.`?)?(\w+)\b|FROM\s+`?(?:\w+`?\.`?)?(\w+)\b(?!`?\s*[(.]))/i

/** What is told of a statement: its kind and table, never what it asks for. */
export function toStatementSpan<T>(sql: string): SpanOf<T> {
  const said = kind.exec(sql)?.[1]?.toUpperCase() ?? 'OTHER'
  const operation = said === 'WITH' ? 'SELECT' : said
  const found = table.exec(sql)
  const named = (found?.[1] ?? found?.[2])?.replace(/\d+/g, '*')
  return {
    name: named === undefined ? operation : `${operation} ${named}`,
    kind: 'client',
    attributes: {
      'db.system.name': 'clickhouse',
      'db.operation.name': operation,
      ...(named !== undefined && { 'db.collection.name': named }),
    },
  }
}

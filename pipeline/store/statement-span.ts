import type { SpanOf } from '../../schemas/tracer.js'

const statementKind = /^(?:\s|--[^\n]*\n)*([a-z]+)/i
/** The first table in the text; a function or a parameter does not count. */
const firstTable =
  /\b(?:(?:INTO(?:\s+TABLE)?|TABLE(?:\s+IF(?:\s+NOT)?\s+EXISTS)?)\s+`?(?:\w+`?\.`?)?(\w+)\b|FROM\s+`?(?:\w+`?\.`?)?(\w+)\b(?!`?\s*[(.]))/i

/** The span of a statement: its kind and table, never its values. */
export function toStatementSpan<T>(sql: string): SpanOf<T> {
  const said = statementKind.exec(sql)?.[1]?.toUpperCase() ?? 'OTHER'
  const operation = said === 'WITH' ? 'SELECT' : said
  const found = firstTable.exec(sql)
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

import { exceptionOf } from '../http/exception.js'
import type { ReaderLimits } from '../reader-limits.js'
import { type ParsedStatement, severalStatements, unquoted } from './statement.js'
import { isName } from './tokens.js'

/** First words of the statements that a reader may run. */
const verbs = new Set([
  'SELECT',
  'WITH',
  'FROM',
  '(',
  'SHOW',
  'DESCRIBE',
  'DESC',
  'EXPLAIN',
  'EXISTS',
])

/** Those of the statements that ClickHouse knows beside them. */
const closedVerbs =
  /^(ALTER|ATTACH|BACKUP|BEGIN|CHECK|COMMIT|COPY|CREATE|DELETE|DETACH|DROP|EXCHANGE|EXECUTE|GRANT|INSERT|KILL|MOVE|OPTIMIZE|PARALLEL|RENAME|REPLACE|RESTORE|REVOKE|ROLLBACK|SET|START|SYSTEM|TRUNCATE|UNDROP|UPDATE|USE|VALUES|WATCH)$/

/**
 * What the engine lets any role do: `file` reads a file wherever its name takes the place of a function,
 * `sqlite` makes one before rights are looked at, `merge` reads tables of the database system, OUTFILE
 * writes, and a list of processes shows statements.
 */
const closedNames = /^(file|merge|sqlite|outfile|infile|processlist)$/i

/** Tables of the database system that describe what a reader may see anyway. */
const openTables =
  /^(one|numbers|numbers_mt|columns|tables|databases|functions|table_functions|settings|formats|data_type_families|keywords|collations|time_zones|build_options|table_engines|aggregate_function_combinators)$/i

/** Refuses a text that would hold up everybody while it is judged. */
export function refuseLong(sql: string, { statementBytes }: ReaderLimits): void {
  const bytes = Buffer.byteLength(sql)
  if (bytes <= statementBytes) return
  const detail = `This statement has ${bytes} bytes, a reader's may have ${statementBytes}`
  throw exceptionOf('QUERY_IS_TOO_LARGE', `${detail}; send long values as parameters`)
}

/**
 * Refuses what a reader must not run and the rights of its role let pass. Tables, files and networks that
 * stand where a table does are refused by the engine.
 */
export function refuseForReader(
  statement: ParsedStatement,
  { seesStatements }: { readonly seesStatements: boolean },
): void {
  const { tokens } = statement
  if (statement.verb === '') throw exceptionOf('SYNTAX_ERROR', 'Syntax error: Empty query')
  if (statement.isSeveral) throw severalStatements()
  if (!statement.isPlaced) throw denied('an unknown character')
  if (!verbs.has(statement.verb)) {
    if (closedVerbs.test(statement.verb)) throw denied(statement.verb)
    throw exceptionOf('SYNTAX_ERROR', `Syntax error: failed at position 1 (${statement.verb})`)
  }
  for (const [index, token] of tokens.entries()) {
    const name = nameAt(statement, index)
    if (isName(token) && closedNames.test(name) && !(seesStatements && isProcesses(name))) {
      throw denied(name)
    }
    if (token.kind === 'quoted' && /[\\“”]/.test(textAt(statement, index))) throw denied(name)
    const isParameter = textAt(statement, index - 1) === ':' && /^identifier$/i.test(name)
    if (isParameter) throw denied('a name as a parameter')
    const isOfSystem =
      textAt(statement, index - 1) === '.' && /^system$/i.test(nameAt(statement, index - 2))
    if (!isOfSystem || openTables.test(name) || (seesStatements && isProcesses(name))) continue
    throw denied(`system.${name}`)
  }
}

/** What shows the statements that run. */
function isProcesses(name: string): boolean {
  return /^process(list|es)$/i.test(name)
}

function textAt({ sql, tokens }: ParsedStatement, index: number): string {
  const token = tokens[index]
  return token === undefined ? '' : sql.slice(token.start, token.end)
}

function nameAt(statement: ParsedStatement, index: number): string {
  return unquoted(textAt(statement, index))
}

function denied(what: string): ReturnType<typeof exceptionOf> {
  return exceptionOf('ACCESS_DENIED', `Not enough privileges: a reader cannot use ${what}`)
}

import { exceptionOf } from '../http/exception.js'
import type { ReaderLimits } from '../reader-limits.js'
import { readerNames } from './reader-names.js'
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

/** What writes or reads a file at the end of a statement, and what shows the statements of others. */
const closedWords = /^(outfile|infile|processlist)$/i

/** What a reader may have shown: others list statements, roles or what belongs to the machine. */
const shown =
  /^(tables?|full|extended|temporary|databases?|columns|fields|create|views?|functions|settings?|changed|dictionar(y|ies)|index(es)?|indices|keys|engines|processlist)$/i

/** What follows EXPLAIN where the engine plans and so checks rights. Other kinds show columns of any table. */
const planned = /^(plan|pipeline|estimate|analyze|select|with|from|\()$/i

/** Tables of the database system that describe what a reader may see anyway. */
const openTables =
  /^(one|numbers|numbers_mt|columns|tables|databases|functions|table_functions|settings|formats|data_type_families|keywords|collations|time_zones|build_options|query_log|table_engines|aggregate_function_combinators)$/i

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
  if (statement.verb === 'SHOW' && !shown.test(nameAt(statement, 1))) {
    throw denied(`SHOW ${nameAt(statement, 1)}`)
  }
  const isPlanned = planned.test(textAt(statement, 1)) || textAt(statement, 2) === '='
  if (statement.verb === 'EXPLAIN' && !isPlanned) {
    const open = 'only EXPLAIN PLAN, PIPELINE, ESTIMATE and ANALYZE'
    throw denied(`EXPLAIN ${nameAt(statement, 1).slice(0, 100)}, ${open}`)
  }
  const rows = rowsOf(statement)
  for (const [index, token] of tokens.entries()) {
    const name = nameAt(statement, index)
    if (token.kind === 'quoted' && /[\\“”]/.test(textAt(statement, index))) throw denied(name)
    if (isName(token)) {
      if (closedWords.test(name) && !(seesStatements && isProcesses(name))) throw denied(name)
      if (!isRowList(statement, index, rows)) refuseCall(statement, index)
    }
    const isParameter = textAt(statement, index - 1) === ':' && /^identifier$/i.test(name)
    if (isParameter) throw denied('a name as a parameter')
    const isOfSystem =
      textAt(statement, index - 1) === '.' && /^system$/i.test(nameAt(statement, index - 2))
    if (!isOfSystem || openTables.test(name) || (seesStatements && isProcesses(name))) continue
    throw denied(`system.${name}`)
  }
}

/**
 * Refuses a name that may call a function which is not in the reviewed lists. Closed functions are refused
 * wherever their name is, since `arrayMap(file, ...)` and `* APPLY file` call one without brackets.
 */
function refuseCall(statement: ParsedStatement, index: number): void {
  const name = nameAt(statement, index)
  const lower = name.toLowerCase()
  const names = readerNames()
  const reason = names.closedBecause(lower)
  if (reason !== undefined) throw denied(`${name}: ${reason}. ${asWriter}`)
  if (!isCall(statement, index)) return
  const isTable = /^(from|join|table|describe|desc)$/i.test(textAt(statement, index - 1))
  if (isTable && names.isClosedTable(lower)) throw denied(`${name}: ${tableReason}. ${asWriter}`)
  if (names.isCallable(lower, statement.tokens[index]?.kind === 'quoted')) return
  if (names.isClosedTable(lower)) throw denied(`${name}: ${tableReason}. ${asWriter}`)
  const remedy = 'SHOW FUNCTIONS lists them; lambdas and lists of columns cannot have a name'
  throw exceptionOf('UNKNOWN_FUNCTION', `A reader has no function ${name.slice(0, 100)}: ${remedy}`)
}

/** Where brackets around at least two values open and close, found in one pass. */
function rowsOf(statement: ParsedStatement): ReadonlyMap<number, number> {
  const rows = new Map<number, number>()
  const opened: number[] = []
  const commas: number[] = []
  for (const [index, { depth }] of statement.tokens.entries()) {
    const text = textAt(statement, index)
    if (/^[([{]$/.test(text)) opened[depth] = index
    else if (text === ',') commas[depth] = index
    else if (/^[)\]}]$/.test(text)) {
      const open = opened[depth] ?? index
      if ((commas[depth + 1] ?? -1) > open) rows.set(open, index)
    }
  }
  return rows
}

/**
 * Whether a name is `values` and its first argument a row of at least two values: a text in its place is a
 * list of columns, whose expressions the engine evaluates.
 */
function isRowList(
  statement: ParsedStatement,
  index: number,
  rows: ReadonlyMap<number, number>,
): boolean {
  if (!/^values$/i.test(nameAt(statement, index)) || textAt(statement, index + 1) !== '(') {
    return false
  }
  const end = rows.get(index + 2)
  if (end === undefined || textAt(statement, index + 2) !== '(') return false
  return /^[,)]$/.test(textAt(statement, end + 1))
}

const tableReason = 'it reaches files or other machines, or evaluates SQL in a text'
const asWriter = 'Run it with tieline sql'

/** Whether a name is called: by a bracket or by APPLY, whose own lambda has a name before an arrow. */
function isCall(statement: ParsedStatement, index: number): boolean {
  if (textAt(statement, index + 1) === '(') return true
  const before = textAt(statement, index - 1) === '(' ? index - 2 : index - 1
  return /^apply$/i.test(textAt(statement, before)) && textAt(statement, index + 1) !== '-'
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

import { exceptionOf } from '../http/exception.js'
import { type ParsedStatement, unquoted } from './statement.js'
import type { Token } from './tokens.js'

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

/**
 * Functions with access to files, networks, programs or other servers. The engine's readonly mode
 * refuses most of them as tables, but not `file` as a scalar.
 */
const closedFunctions =
  /^(file|fileCluster|filesystem\w*|url|urlCluster|s3\w*|gcs|oss|cosn|hdfs\w*|azure\w*|iceberg\w*|deltaLake\w*|hudi\w*|paimon\w*|remote\w*|cluster\w*|mysql|postgresql|mongodb|redis|sqlite|jdbc|odbc|ytsaurus|executable\w*|input|dictionary|dictGet\w*|joinGet\w*|merge|mergeTree\w*|loop|arrowstream|arrowFlight|prometheus\w*|timeSeries\w*|eval|fuzz\w*|viewExplain|ai[A-Z]\w*|catboostEvaluate|addressTo\w*|demangle|sleep\w*|getServerSetting|hasColumnInTable)$/i

/** After these words the engine would read a string or a quoted path as a file name. */
const tableWords = /^(FROM|JOIN|TABLE|DESCRIBE|DESC|SHOW|CREATE|EXISTS|VIEW|DICTIONARY|IN|\.)$/
const closedWords = new Set(['OUTFILE', 'INFILE'])

/**
 * Refuses statements that a reader must not run, in addition to the engine's readonly mode: above all
 * access to files and networks, and text that the tokenizer cannot parse.
 */
export function refuseForReader(statement: ParsedStatement): void {
  const { sql, tokens } = statement
  if (!statement.isPlaced) throw denied('an unknown character')
  if (!verbs.has(statement.verb)) throw denied(statement.verb)
  const lists = tableLists(statement)
  for (const [index, token] of tokens.entries()) {
    const text = sql.slice(token.start, token.end)
    const before = wordAt(statement, index - 1)
    if (closedWords.has(wordAt(statement, index))) throw denied(text)
    if (isName(token) && wordAt(statement, index + 1) === '(') {
      if (closedFunctions.test(unquoted(text))) throw denied(text)
    }
    if (before === ':' && /^identifier$/i.test(text)) throw denied('a table name as a parameter')
    const isTable = tableWords.test(before) || (before === ',' && lists[index])
    if (isTable && isPath(token, text, before)) throw denied(text)
    if (token.kind === 'quoted' && /[\\“”]/.test(text)) throw denied(text)
  }
}

/**
 * For each token, whether a comma before it may go on with a list of tables: at its bracket level a
 * FROM came after the last SELECT. Aliases spelled like keywords do not end such a list.
 */
function tableLists(statement: ParsedStatement): readonly boolean[] {
  const levels: boolean[] = [false]
  return statement.tokens.map((token, index) => {
    levels.length = Math.min(levels.length, token.depth + 1)
    while (levels.length <= token.depth) levels.push(false)
    const word = token.kind === 'word' ? wordAt(statement, index) : ''
    if (word === 'FROM' || word === 'JOIN') levels[token.depth] = true
    const before = wordAt(statement, index - 1)
    if (word === 'SELECT' && /^(UNION|ALL|DISTINCT|EXCEPT|INTERSECT)$/.test(before)) {
      levels[token.depth] = false
    }
    return levels[token.depth] ?? false
  })
}

function isName(token: Token): boolean {
  return token.kind === 'word' || token.kind === 'quoted'
}

function wordAt({ sql, tokens }: ParsedStatement, index: number): string {
  const token = tokens[index]
  return token === undefined ? '' : sql.slice(token.start, token.end).toUpperCase()
}

/** Whether a table name is a file: a string, or a quoted name with a slash or a dot. */
function isPath(token: Token, text: string, before: string): boolean {
  if (token.kind === 'quoted') return /[/.]/.test(text)
  if (token.kind === 'heredoc') return true
  return token.kind === 'string' && before !== 'IN'
}

function denied(what: string): ReturnType<typeof exceptionOf> {
  return exceptionOf('ACCESS_DENIED', `Not enough privileges: a reader cannot use ${what}`)
}

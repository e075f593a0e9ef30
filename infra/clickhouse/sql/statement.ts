import { type Exception, exceptionOf } from '../http/exception.js'
import { type Token, tokensOf } from './tokens.js'

/** One SQL statement, split into the parts that the HTTP interface has to move. */
export interface ParsedStatement {
  readonly sql: string
  readonly tokens: readonly Token[]
  /** First word in capitals; empty for an empty text. */
  readonly verb: string
  readonly kind: 'select' | 'insert' | 'other'
  /** Where the trailing FORMAT clause starts, and its name. */
  readonly format?: { readonly at: number; readonly end: number; readonly name: string }
  /** Where the statement ends, without a closing semicolon. */
  readonly end: number
  readonly isSeveral: boolean
  readonly isPlaced: boolean
}

const selectVerbs = new Set(['SELECT', 'WITH', 'FROM', 'VALUES', '('])

/** Whether a text is an INSERT, which may be followed by data in any format. */
export function isInsert(sql: string): boolean {
  return startsWith(sql, 'INSERT')
}

/** Whether the first word of a statement is a verb; the rest is not read. */
export function startsWith(sql: string, verb: string): boolean {
  const first = tokensOf(sql).next().value
  return first !== undefined && sql.slice(first.start, first.end).toUpperCase() === verb
}

/**
 * Whether the settings, the database and the temporary tables of a connection stay as they were behind a
 * statement.
 */
export function keepsSession(sql: string): boolean {
  const words: string[] = []
  for (const { start, end } of tokensOf(sql)) {
    words.push(sql.slice(start, end).toUpperCase())
    if (words.length === createWords) break
  }
  const [verb = ''] = words
  if (verb === 'CREATE') return !words.includes('TEMPORARY')
  return ['SELECT', 'WITH', 'INSERT', 'ALTER', 'DROP'].includes(verb)
}

/** CREATE OR REPLACE TEMPORARY TABLE. */
const createWords = 4

/** Determines the kind of a statement. `readInsert` splits inserts further. */
export function readStatement(sql: string): ParsedStatement {
  const tokens = [...tokensOf(sql)]
  const text = (token: Token): string => sql.slice(token.start, token.end)
  const first = tokens[0]
  const verb = first === undefined ? '' : text(first).toUpperCase()
  const semicolon = tokens.findIndex((token) => token.kind === 'mark' && text(token) === ';')
  const own = semicolon === -1 ? tokens : tokens.slice(0, semicolon)
  const rest = semicolon === -1 ? [] : tokens.slice(semicolon)
  const format = formatOf(sql, own)
  return {
    sql,
    tokens: own,
    verb,
    kind: kindOf(verb, own, text),
    ...(format && { format }),
    end: own.at(-1)?.end ?? 0,
    isSeveral: rest.some((token) => text(token) !== ';'),
    isPlaced: !tokens.some((token) => token.kind === 'unplaced'),
  }
}

/** `WITH ... INSERT INTO` starts like a SELECT, but is an INSERT. */
function kindOf(verb: string, tokens: readonly Token[], text: (token: Token) => string) {
  if (verb === 'INSERT') return 'insert'
  if (!selectVerbs.has(verb)) return 'other'
  const hides = tokens.some((token, index) => {
    const next = tokens[index + 1]
    if (next === undefined || token.depth !== 0 || token.kind !== 'word') return false
    return /^insert$/i.test(text(token)) && /^into$/i.test(text(next))
  })
  return hides ? 'other' : 'select'
}

/** A word after these cannot be the FORMAT keyword: an operand is still expected. */
const expectsOperand = new Set(['BY', 'AS', 'SELECT', 'WHERE', 'AND', 'OR', 'NOT', 'IN', 'FROM'])

function formatOf(sql: string, tokens: readonly Token[]): ParsedStatement['format'] {
  const word = (index: number): string => {
    const token = tokens[index]
    return token?.kind === 'word' ? sql.slice(token.start, token.end).toUpperCase() : ''
  }
  for (let index = tokens.length - 2; index > 0; index--) {
    const token = tokens[index] as Token
    if (token.depth !== 0 || word(index) !== 'FORMAT') continue
    const name = tokens[index + 1] as Token
    const isLast = index + 2 === tokens.length || word(index + 2) === 'SETTINGS'
    const before = tokens[index - 1] as Token
    const afterOperand =
      before.kind === 'mark'
        ? /[)\]}*]/.test(sql[before.start] as string)
        : !expectsOperand.has(word(index - 1))
    if (isLast && afterOperand && (name.kind === 'word' || name.kind === 'quoted')) {
      return { at: token.start, end: name.end, name: unquoted(sql.slice(name.start, name.end)) }
    }
  }
  return undefined
}

export function severalStatements(): Exception {
  return exceptionOf('SYNTAX_ERROR', 'Syntax error (Multi-statements are not allowed)')
}

export function unquoted(name: string): string {
  return /^[`"]/.test(name) ? name.slice(1, -1) : name
}

/** Changes a statement to write its result to a file or pipe, in its own or the default format. */
export function intoOutfile(statement: ParsedStatement, path: string, format: string): string {
  const at = statement.format?.at ?? statement.end
  const tail = statement.format ? statement.sql.slice(at, statement.end) : `FORMAT ${format}`
  return `${statement.sql.slice(0, at)}\nINTO OUTFILE ${stringLiteral(path)} APPEND ${tail}`
}

/** A message of the engine without what `intoOutfile` has put into the statement that it quotes. */
export function withoutOutfile(message: string): string {
  return message.replace(/\s*INTO OUTFILE '[^']*' APPEND( FORMAT \w+)?/g, '')
}

/** A string literal of exactly this text. */
export function stringLiteral(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

export type TokenKind = 'word' | 'quoted' | 'string' | 'number' | 'heredoc' | 'mark' | 'unplaced'

export interface Token {
  readonly kind: TokenKind
  readonly start: number
  readonly end: number
  /** Number of enclosing brackets; a bracket itself counts as outside. */
  readonly depth: number
}

/** Whether a token can be a name, quoted or not. */
export function isName(token: Token | undefined): boolean {
  return token?.kind === 'word' || token?.kind === 'quoted'
}

type Match = readonly [TokenKind | 'space', number]

const patterns: readonly (readonly [TokenKind | 'space', RegExp])[] = [
  ['space', /[\s\u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]+/y],
  ['space', /(?:--|\/\/|#!|# )[^\n]*/y],
  ['word', /[A-Za-z_][A-Za-z0-9_$]*/y],
  ['string', /‘[^’]*’/y],
  ['quoted', /“[^”]*”/y],
  ['heredoc', /\$([A-Za-z0-9_]*)\$[\s\S]*?\$\1\$/y],
  ['mark', /[-()[\]{},;.+*/%=<>!|?:^&@~]/y],
]

/** The digits of an exponent may be missing: `1e--2` contains no comment. */
const hexadecimal =
  /0x[\da-f](?:_?[\da-f])*(?:\.(?:[\da-f](?:_?[\da-f])*)?)?(?:p[+-]?(?:\d(?:_?\d)*)?)?/iy
const decimal =
  /(?:(?:0b[01]|\d)(?:_?\d)*(?:\.(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:e[+-]?(?:\d(?:_?\d)*)?)?/iy
/** After a dot, as in `tuple.1.2`. */
const member = /\d(?:_?\d)*/y
const restOfWord = /\w*/y

/**
 * Tokenizes SQL like ClickHouse's lexer, lazily and without comments and white space. The first text that
 * the lexer refuses or could read in another way (unknown characters, wrong numbers, nested or open
 * comments, a `$` outside of a word or plain heredoc) becomes one `unplaced` token up to the end: callers
 * refuse it or ask the engine.
 */
export function* tokensOf(sql: string): Generator<Token, void> {
  let at = 0
  let depth = 0
  let last: Token | undefined
  while (at < sql.length) {
    const [kind, end] = matchAt(sql, at, last)
    if (kind !== 'space') {
      const mark = kind === 'mark' ? sql[at] : ''
      if (mark === ')' || mark === ']' || mark === '}') depth = Math.max(0, depth - 1)
      last = { kind, start: at, end, depth }
      yield last
      if (mark === '(' || mark === '[' || mark === '{') depth++
    }
    at = end
  }
}

function matchAt(sql: string, at: number, last: Token | undefined): Match {
  const first = sql[at] as string
  if (first === "'" || first === '`' || first === '"') {
    const end = quotedEnd(sql, at)
    if (end === undefined) return ['unplaced', sql.length]
    return [first === "'" ? 'string' : 'quoted', end]
  }
  if (first === '/' && sql[at + 1] === '*') return commentAt(sql, at)
  return numberAt(sql, at, last) ?? patternAt(sql, at)
}

function patternAt(sql: string, at: number): Match {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at
    if (pattern.test(sql)) return [kind, pattern.lastIndex]
  }
  return ['unplaced', sql.length]
}

/** ClickHouse nests comments; one with another inside is not followed further. */
function commentAt(sql: string, at: number): Match {
  const close = sql.indexOf('*/', at + 2)
  const isPlain = close !== -1 && !sql.slice(at + 2, close + 1).includes('/*')
  return isPlain ? ['space', close + 2] : ['unplaced', sql.length]
}

/** A number, or a word that begins with digits. Such a word contains no `$`. */
function numberAt(sql: string, at: number, last: Token | undefined): Match | undefined {
  const isDot = sql[at] === '.'
  if (!/\d/.test(sql[isDot ? at + 1 : at] ?? '') || (isDot && endsOperand(sql, last))) {
    return undefined
  }
  const isMember = last?.kind === 'mark' && sql[last.start] === '.'
  const forms = isMember && !isDot ? [member] : [hexadecimal, decimal]
  for (const form of forms) {
    form.lastIndex = at
    const found = form.exec(sql)
    if (found === null) continue
    const [number] = found
    restOfWord.lastIndex = at + number.length
    restOfWord.test(sql)
    const end = restOfWord.lastIndex
    if (end > at + number.length) {
      const isUncertain = /[ep]/i.test(sql[end - 1] as string) && /[-+]/.test(sql[end] ?? '')
      const isWord = /^\w+$/.test(number) && !isUncertain
      return isWord ? ['word', end] : ['unplaced', sql.length]
    }
    const isWrong = /[ep][+-]?$/i.test(number) && !/^0x[^p]*$/i.test(number)
    return isWrong ? ['unplaced', sql.length] : ['number', end]
  }
  return undefined
}

/** Whether a dot after this token is one, even before a digit. */
function endsOperand(sql: string, last: Token | undefined): boolean {
  if (last?.kind === 'mark') return /[)\]]/.test(sql[last.start] as string)
  return last?.kind === 'word' || last?.kind === 'quoted' || last?.kind === 'number'
}

/** Where a quoted text ends: a backslash escapes one character, and a doubled quote is escaped. */
function quotedEnd(sql: string, start: number): number | undefined {
  const quote = sql[start]
  for (let at = start + 1; at < sql.length; at++) {
    if (sql[at] === '\\') at++
    else if (sql[at] === quote && sql[at + 1] === quote) at++
    else if (sql[at] === quote) return at + 1
  }
  return undefined
}

export type TokenKind = 'word' | 'quoted' | 'string' | 'number' | 'heredoc' | 'mark' | 'unplaced'

export interface Token {
  readonly kind: TokenKind
  readonly start: number
  readonly end: number
  /** Number of enclosing brackets; a bracket itself counts as outside. */
  readonly depth: number
}

const patterns: readonly (readonly [TokenKind | 'space', RegExp])[] = [
  ['space', /[\s\u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff]+/y],
  ['space', /(?:--|#!|# )[^\n]*/y],
  ['space', /\/\*[\s\S]*?\*\//y],
  ['number', /(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)/y],
  ['word', /[A-Za-z_][A-Za-z0-9_$]*/y],
  ['string', /‘[^’]*’/y],
  ['quoted', /“[^”]*”/y],
  ['heredoc', /\$([A-Za-z0-9_]*)\$[\s\S]*?\$\1\$/y],
  ['mark', /[-()[\]{},;.+*/%=<>!|?:^&@~$]/y],
]

/**
 * Tokenizes SQL like ClickHouse's lexer, lazily and without comments and white space. The first unknown
 * character becomes one `unplaced` token up to the end of the text: callers refuse it or ask the engine.
 */
export function* tokensOf(sql: string): Generator<Token, void> {
  let at = 0
  let depth = 0
  while (at < sql.length) {
    const [kind, end] = matchAt(sql, at)
    if (kind !== 'space') {
      const mark = kind === 'mark' ? sql[at] : ''
      if (mark === ')' || mark === ']' || mark === '}') depth = Math.max(0, depth - 1)
      yield { kind, start: at, end, depth }
      if (mark === '(' || mark === '[' || mark === '{') depth++
    }
    at = end
  }
}

function matchAt(sql: string, at: number): readonly [TokenKind | 'space', number] {
  const quote = sql[at]
  if (quote === "'" || quote === '`' || quote === '"') {
    const end = quotedEnd(sql, at)
    if (end === undefined) return ['unplaced', sql.length]
    return [quote === "'" ? 'string' : 'quoted', end]
  }
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at
    if (pattern.test(sql)) return [kind, pattern.lastIndex]
  }
  return ['unplaced', sql.length]
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

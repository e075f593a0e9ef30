import { stringLiteral, unquoted } from './statement.js'
import { type Token, tokensOf } from './tokens.js'

/** The parts of an INSERT; its data start at `dataAt` and may continue in the body. */
export type Insert =
  | { readonly kind: 'complete' }
  | {
      readonly kind: 'data'
      /** INSERT INTO t (columns), without settings and format. */
      readonly head: string
      readonly settings: string
      readonly format: string
      readonly dataAt: number
    }
  | {
      readonly kind: 'input'
      /** The statement around `input(structure)`, its FORMAT clause cut off. */
      readonly before: string
      readonly structure: string
      readonly after: string
      readonly format: string
      readonly dataAt: number
    }

interface Words {
  readonly tokens: readonly Token[]
  at(index: number): string
  isWord(index: number, word: string): boolean
}

/**
 * Splits an INSERT up to the point where its data begin, and reads nothing beyond that point. An
 * INSERT without external data (VALUES in place, SELECT, INFILE) is `complete`.
 */
export function readInsert(sql: string): Insert {
  const words = wordsUntilData(sql)
  const { tokens } = words
  const isSelect = tokens.findIndex((_, index) => startsSelect(words, index))
  if (isSelect !== -1) return readInput(sql, words)
  const last = tokens.length - 1
  const isFormat = words.isWord(last - 1, 'FORMAT') && !isName(words, last - 1)
  const formatAt = isFormat ? last - 1 : last
  const name = tokens[last]
  if (name === undefined || (!isFormat && !words.isWord(last, 'VALUES'))) {
    return { kind: 'complete' }
  }
  const settingsAt = tokens.findIndex(
    (token, index) => token.depth === 0 && index > 2 && words.isWord(index, 'SETTINGS'),
  )
  const format = tokens[formatAt] as Token
  const headEnd = tokens[settingsAt]?.start ?? format.start
  return {
    kind: 'data',
    head: sql.slice(0, headEnd),
    settings: sql.slice(headEnd, format.start),
    format: formatAt === last ? 'Values' : unquoted(words.at(last)),
    dataAt: name.end,
  }
}

/** The statement that reads the data of an INSERT from a spooled file. */
export function fromSpool(
  insert: Exclude<Insert, { kind: 'complete' }>,
  spool: { readonly path: string; readonly compression: string },
): string {
  const path = stringLiteral(spool.path)
  const packed = spool.compression === 'none' ? '' : stringLiteral(spool.compression)
  if (insert.kind === 'input') {
    const tail = packed === '' ? '' : `, ${packed}`
    const { before, structure, after, format } = insert
    return `${before} file(${path}, ${format}, ${structure}${tail}) ${after}`
  }
  const { head, settings, format } = insert
  return `${head} FROM INFILE ${path} ${packed && `COMPRESSION ${packed}`} ${settings} FORMAT \`${format}\``
}

function wordsUntilData(sql: string): Words {
  const tokens: Token[] = []
  const at = (index: number): string => sql.slice(tokens[index]?.start, tokens[index]?.end)
  const isWord = (index: number, word: string): boolean =>
    tokens[index]?.kind === 'word' && at(index).toUpperCase() === word
  const words = { tokens, at, isWord }
  let hasSelect = false
  for (const token of tokensOf(sql)) {
    const last = tokens.push(token) - 1
    hasSelect ||= startsSelect(words, last)
    if (token.depth !== 0 || last < 3 || isName(words, last)) continue
    if (!hasSelect && isWord(last, 'VALUES')) break
    if (isWord(last - 1, 'FORMAT') && !isName(words, last - 1) && token.kind !== 'mark') break
  }
  return words
}

/** Whether a word is the table's name or a part of it, even if it is a keyword. */
function isName(words: Words, index: number): boolean {
  const before = words.at(index - 1).toUpperCase()
  return ['INTO', 'TABLE', '.', 'FUNCTION'].includes(before)
}

function startsSelect(words: Words, index: number): boolean {
  const depth = words.tokens[index]?.depth ?? 0
  const isSelect = words.isWord(index, 'SELECT')
  if (depth > 0) return isSelect && words.at(index - 1) === '('
  return (isSelect || words.isWord(index, 'WITH')) && !isName(words, index)
}

function readInput(sql: string, words: Words): Insert {
  const { tokens } = words
  const last = tokens.length - 1
  const input = tokens.findIndex(
    (_, index) => words.isWord(index, 'INPUT') && words.at(index + 1) === '(',
  )
  if (input === -1 || !words.isWord(last - 1, 'FORMAT')) return { kind: 'complete' }
  const open = tokens[input + 1] as Token
  const close = tokens.find((token, index) => index > input + 1 && token.depth === open.depth)
  if (close === undefined) return { kind: 'complete' }
  return {
    kind: 'input',
    before: sql.slice(0, tokens[input]?.start),
    structure: sql.slice(open.end, close.start),
    after: sql.slice(close.end, tokens[last - 1]?.start),
    format: unquoted(words.at(last)),
    dataAt: tokens[last]?.end ?? sql.length,
  }
}

import { exceptionOf } from '../http/exception.js'
import { type ParsedStatement, unquoted } from './statement.js'
import { isName, type Token } from './tokens.js'

/** A SETTINGS clause of a statement. */
export interface SettingsClause {
  readonly settings: readonly ClauseSetting[]
  readonly start: number
  readonly end: number
  /** Whether it is at the end of the statement, where it counts for all of it. */
  readonly isLast: boolean
}

export interface ClauseSetting {
  readonly name: string
  /** A literal of SQL, or the word DEFAULT. */
  readonly value: string
}

/**
 * Finds all SETTINGS clauses, also those of sub-selects. The word is a clause where a name follows it,
 * unless it is a part of a name itself. Throws READONLY for a value that is not a plain literal, and for
 * a clause with `=` that something unexpected follows.
 */
export function readSettings(statement: ParsedStatement): readonly SettingsClause[] {
  return statement.tokens.flatMap((_, index) =>
    isClause(statement, index) ? [readClause(statement, index)] : [],
  )
}

/** The statement without some of its clauses; everything else keeps its position. */
export function withoutClauses(sql: string, clauses: readonly SettingsClause[]): string {
  return clauses.reduce(
    (text, { start, end }) => text.slice(0, start) + ' '.repeat(end - start) + text.slice(end),
    sql,
  )
}

/** Words that follow a column or table named `settings`; the engine has no setting of such a name. */
export const wordsAfterNames =
  /^(from|where|prewhere|group|order|having|union|intersect|except|asc|desc|nulls|collate|and|or|in|is|not|like|between|as|on|using|join|inner|left|right|cross|format|into|then|else|end|when|ilike|regexp|div|mod|sample|array|global|any|all|anti|asof|semi|full|paste|qualify|window|with|settings)$/i

/** What may follow a clause; before anything else the engine could read more of it than we do. */
const wordsAfterClause = /^(\)|format|union|except|intersect|settings|into|)$/i

function isClause({ sql, tokens }: ParsedStatement, index: number): boolean {
  const text = (at: number): string => sql.slice(tokens[at]?.start ?? 0, tokens[at]?.end ?? 0)
  if (tokens[index]?.kind !== 'word' || !/^settings$/i.test(text(index))) return false
  if (!isName(tokens[index + 1]) || wordsAfterNames.test(text(index + 1))) return false
  return !(text(index - 1) === '.' && isName(tokens[index - 2]))
}

function readClause({ sql, tokens, format }: ParsedStatement, index: number): SettingsClause {
  const text = (at: number): string => sql.slice(tokens[at]?.start ?? 0, tokens[at]?.end ?? 0)
  const settings: ClauseSetting[] = []
  let isCertain = false
  let at = index
  do {
    const name = unquoted(text(++at))
    const isShort = text(at + 1) !== '='
    const isSigned = !isShort && /^[-+]$/.test(text(at + 2))
    if (!isShort) at += isSigned ? 3 : 2
    isCertain ||= !isShort
    const value = isShort ? '1' : `${isSigned ? text(at - 1) : ''}${text(at)}`
    const { kind } = tokens[at] ?? { kind: 'mark' }
    const isPlain = isShort || (isSigned ? kind === 'number' : /^(number|string|word)$/.test(kind))
    if (!isPlain) throw exceptionOf('READONLY', `Cannot read the value of the setting '${name}'`)
    settings.push({ name, value })
  } while (text(at + 1) === ',' && isName(tokens[at + 2]) && ++at)
  if (isCertain && !wordsAfterClause.test(text(at + 1))) {
    throw exceptionOf('READONLY', `Cannot read the SETTINGS before '${text(at + 1)}'`)
  }
  const [first, next] = [tokens[index] as Token, tokens[at + 1]]
  const isLast = first.depth === 0 && (next === undefined || next.start === format?.at)
  return { settings, start: first.start, end: (tokens[at] as Token).end, isLast }
}

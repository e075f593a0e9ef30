import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../package-root.js'

/** The reviewed names of functions, table functions and settings; functions in small letters. */
export interface ReaderNames {
  /** Whether a bracket may follow a name. `isQuoted` names are not words of SQL. */
  isCallable(name: string, isQuoted: boolean): boolean
  /** Why no statement may contain a name; undefined if it may. */
  closedBecause(name: string): string | undefined
  isClosedTable(name: string): boolean
  isSetting(name: string): boolean
  /** For the test that every name of the engine is placed. */
  readonly lists: ReadonlyMap<string, ReadonlySet<string>>
}

/** Longer names are not looked at, because each combinator of an aggregate function is cut off singly. */
const nameLengthMax = 200

let names: ReaderNames | undefined

/** The lists of `reader-names.txt`, read once. */
export function readerNames(): ReaderNames {
  const path = 'infra/clickhouse/sql/reader-names.txt'
  names ??= parseNames(readFileSync(join(packageRoot(import.meta.url), path), 'utf8'))
  return names
}

function parseNames(text: string): ReaderNames {
  const lists = new Map<string, ReadonlySet<string>>()
  const closed = new Map<string, string>()
  for (const section of text.split(/^## /m).slice(1)) {
    const [title = '', ...lines] = section.split('\n')
    const [kind = '', reason = ''] = title.split(': ')
    const words = lines.join(' ').toLowerCase().split(' ').filter(Boolean)
    lists.set(kind, new Set([...(lists.get(kind) ?? []), ...words]))
    if (kind === 'closed') for (const word of words) closed.set(word, reason)
  }
  const isIn = (kind: string, name: string): boolean => lists.get(kind)?.has(name) ?? false
  const combinators = new RegExp(`(?:${[...(lists.get('combinator') ?? [])].join('|')})$`)
  const isCall = (name: string): boolean => {
    for (let rest = name; ; ) {
      if (isIn('call', rest)) return true
      const shorter = rest.replace(combinators, '')
      if (shorter === rest) return false
      rest = shorter
    }
  }
  return {
    lists,
    isCallable: (name, isQuoted) =>
      name.length <= nameLengthMax &&
      ((!isQuoted && isIn('word', name)) ||
        isIn('table', name) ||
        isIn('type', name) ||
        isIn('view', name) ||
        isCall(name)),
    closedBecause: (name) => closed.get(name),
    isClosedTable: (name) => isIn('closed table', name),
    isSetting: (name) => isIn('setting', name),
  }
}

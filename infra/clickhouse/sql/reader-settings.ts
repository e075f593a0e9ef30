import type { Call } from '../http/call.js'
import { exceptionOf } from '../http/exception.js'
import { limitSettings, type ReaderLimits } from '../reader-limits.js'
import { refuseForReader } from './reader.js'
import { readerNames } from './reader-names.js'
import { readSettings, withoutClauses } from './settings-clause.js'
import { readStatement, stringLiteral } from './statement.js'

/** What the front sets for each statement; the rows of `system.query_log` follow from the comment. */
const ownSettings = ['readonly', 'log_comment']

/**
 * Judges a call of a reader, also the SETTINGS in its statement; those at its end move to `set`, because
 * the engine takes none in the readonly mode. Throws what the reader may not do.
 */
export function judgeForReader(
  call: Call,
  rights: { readonly limits: ReaderLimits; readonly seesStatements: boolean },
): Call {
  if (/^system$/i.test(call.database ?? '')) {
    throw exceptionOf(
      'ACCESS_DENIED',
      'Not enough privileges: a reader cannot use the database system',
    )
  }
  const statement = readStatement(call.query)
  refuseForReader(statement, rights)
  const limits = new Map(limitSettings(rights.limits))
  const set = new Map([...limits].map(([name, max]) => [name, String(max)]))
  for (const [name, value] of call.settings) {
    judge({ name, value }, limits)
    set.set(name, stringLiteral(value))
  }
  const clauses = readSettings(statement)
  for (const { settings, isLast } of clauses) {
    for (const setting of settings) {
      const { name, value } = setting
      if (!isLast && ownSettings.includes(name)) throw readonlyOf(name)
      judge({ name, value: value.replace(/^'(.*)'$/s, '$1') }, limits)
      if (!isLast) continue
      if (/^default$/i.test(value)) set.delete(name)
      else set.set(name, value)
    }
  }
  for (const own of ownSettings) set.delete(own)
  const last = clauses.filter(({ isLast }) => isLast)
  return {
    ...call,
    query: withoutClauses(call.query, last),
    set: [...set].map(([name, value]) => `${name} = ${value}`),
  }
}

/**
 * A reader may choose limits, how an answer looks, and what clients send with every statement. Other
 * settings read files, hide filters with functions in them, or change the dialect.
 */
function judge(
  { name, value }: { readonly name: string; readonly value: string },
  limits: ReadonlyMap<string, number>,
): void {
  if (!readerNames().isSetting(name) || (name === 'readonly' && !/^[12]$/.test(value))) {
    throw readonlyOf(name)
  }
  const max = limits.get(name)
  if (
    max === undefined ||
    (/^\d+(\.\d+)?$/.test(value) && Number(value) > 0 && Number(value) <= max)
  )
    return
  throw exceptionOf(
    'SETTING_CONSTRAINT_VIOLATION',
    `Setting ${name} is ${value}; a reader may set a number above 0 and up to ${max}`,
  )
}

function readonlyOf(name: string): ReturnType<typeof exceptionOf> {
  return exceptionOf('READONLY', `Cannot modify '${name}' setting in readonly mode`)
}

import { z } from 'zod'

/** Where the value at a path is written, such as `line 3, column 7`; undefined where that is unknown. */
export type PlaceOf = (path: readonly PropertyKey[]) => string | undefined

/** All problems that a schema found, one a line: path, place and message, values left out. */
export function listProblems(error: z.core.$ZodError, placeOf: PlaceOf = () => undefined): string {
  return error.issues
    .map((issue) => {
      const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : []
      const place = placeOf(unknown === undefined ? issue.path : [...issue.path, unknown])
      const where = spellPath(issue.path) || 'top level'
      return `${where}${place === undefined ? '' : ` (${place})`}: ${issue.message}`
    })
    .join('\n')
}

const kinds: Readonly<Record<string, string>> = {
  string: 'a text, in quotes if it looks like a number',
  object: 'a section of settings',
  array: 'a list, in [ ]',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
}

function spellKind(expected: string): string {
  return kinds[expected] ?? 'another kind of value'
}

/** The remedy for a problem for which the schema has no message of its own. */
export function remedy(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return (issue.input === undefined ? 'missing: write ' : 'write ') + spellKind(issue.expected)
    case 'invalid_value':
      return `use ${issue.values.join(' or ')}`
    case 'invalid_union':
      return `use ${(issue['options'] as readonly string[] | undefined)?.join(' or ')}`
    case 'unrecognized_keys': {
      const known = issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : []
      return `unknown ${issue.keys.join(', ')}: remove it or correct its name; known are ${known.join(', ')}`
    }
    case 'too_small':
      return `use ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`
    case 'too_big':
      return `use at most ${issue.maximum}`
    default:
      return undefined
  }
}

/** `sources[0].path`; empty where the path is. */
export function spellPath(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '')
}

import { Fault } from '../../schemas/fault.js'
import { parseYaml } from '../yaml.js'

/** One setting of the proposal: what it is and why, or what a person must answer. */
export interface SettingFinding {
  /** Its path in the format, such as `columns.meter`; or in the profile, such as `/timeZone`. */
  readonly setting: string
  /** Undefined while the question is open, and for notes. */
  readonly value: unknown
  readonly evidence: string
  /** Present while it is open. */
  readonly question?: string
}

/** What the samples show of a setting. */
export interface Shown {
  /** Undefined where they do not decide. */
  readonly value?: unknown
  readonly evidence: string
  /** What to ask where they do not. */
  readonly question?: string
}

/** What is found, in the order of the profile. */
export interface Findings {
  readonly all: readonly SettingFinding[]
  /** Takes what is shown, or the answer of a person; returns the value that holds. */
  decide(setting: string, shown: Shown): unknown
  /** What a person should know and need not answer. */
  note(text: string): void
  readonly notes: readonly string[]
  /** Throws `CONFIG` for answers to what was not asked nor proposed. */
  refuseUnused(): void
}

/** Settings that have an option of their own on the command line. */
const options = ['/timeZone', '/commodity']

/** `answers` by setting; their texts are YAML, so that `[Point, Device]` is a list. */
export function createFindings(answers: ReadonlyMap<string, string>): Findings {
  const all: SettingFinding[] = []
  const notes: string[] = []
  const known = new Set<string>()
  return {
    all,
    notes,
    decide: (setting, { value, evidence, question }) => {
      known.add(setting)
      const given = answers.get(setting)
      const found: SettingFinding =
        given !== undefined
          ? { setting, value: toValue(setting, given), evidence: 'answered' }
          : { setting, value, evidence, ...(value === undefined && question && { question }) }
      if (found.value !== undefined || found.question !== undefined) all.push(found)
      return found.value
    },
    note: (text) => void notes.push(text),
    refuseUnused: () => {
      const unused = [...answers.keys()].filter((setting) => !known.has(setting))
      if (unused.length === 0) return
      const names = [...known].filter((setting) => !options.includes(setting)).join(', ')
      const detail = `--answer ${unused.join(', ')}: not a setting of this proposal; it has ${names}`
      throw new Fault('CONFIG', detail)
    },
  }
}

/** `none` leaves a setting out. */
function toValue(setting: string, text: string): unknown {
  if (text.trim() === 'none') return null
  try {
    return parseYaml(text)
  } catch (cause) {
    throw new Fault('CONFIG', `--answer ${setting}=${text} is not valid YAML`, { cause })
  }
}

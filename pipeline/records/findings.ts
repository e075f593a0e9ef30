import type { Finding } from '../../schemas/lint/finding.js'
import type { Refusal } from '../ledger/verdict.js'

/** What is wrong with the rows of a file by their lines; several findings of a row are one entry. */
export type FileFindings = ReadonlyMap<
  number,
  { readonly column: string; readonly code: string; readonly detail: string }
>

/** The findings of a set by file; those of rows in force belong to no file. */
export function toFindings(errors: readonly Finding[]): ReadonlyMap<string, FileFindings> {
  const files = new Map<string, Map<number, { column: string; code: string; detail: string }>>()
  for (const { at, column, code, detail } of errors) {
    if (at.line === 0) continue
    const lines = files.get(at.fileName) ?? new Map()
    files.set(at.fileName, lines)
    const before = lines.get(at.line)
    if (before === undefined) lines.set(at.line, { column, code, detail })
    else lines.set(at.line, { ...before, detail: `${before.detail}; ${detail}` })
  }
  return files
}

/** What keeps a set from being published. */
export interface Obstacles {
  /** Files of it that are quarantined already, and why. */
  readonly quarantined: readonly {
    readonly fileName: string
    readonly reason?: string | null | undefined
  }[]
  /** How many rows of its other files are no use by themselves. */
  readonly rejected: readonly { readonly fileName: string; readonly rows: number }[]
  readonly errors: readonly Finding[]
}

/** Every reason not to publish a set; none where it is good. */
export function reasonsOf({ quarantined, rejected, errors }: Obstacles): readonly string[] {
  return [
    ...quarantined.map(({ fileName, reason }) => `${fileName} is quarantined: ${reason}`),
    ...rejected
      .filter(({ rows }) => rows > 0)
      .map(({ fileName, rows }) => `${fileName} has rejected rows (${rows}), see its rejects`),
    ...errors.map(toReason),
  ]
}

/** A finding as a reason; a row in force has no line. */
function toReason({ at, detail }: Finding): string {
  return at.line === 0 ? `${at.fileName}: ${detail}` : `${at.fileName} line ${at.line}: ${detail}`
}

const reasonsMax = 3

/** Why a set of schedules is not published: the first reasons, and how many more there are. */
export function refuseSchedule(reasons: readonly string[]): Refusal {
  const more = reasons.length - reasonsMax
  const shown = reasons.slice(0, reasonsMax).join('; ')
  const reason = `a complete schedule has no error: ${shown}${more > 0 ? `; and ${more} more` : ''}`
  return { fault: 'SCHEDULE', reason }
}

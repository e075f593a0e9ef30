import type { Finding } from '../../schemas/lint/finding.js'
import type { Refusal } from '../verdict.js'

/** What is wrong with the rows of a file by their lines; several findings of a row are told as one. */
export type FileFindings = ReadonlyMap<
  number,
  { readonly column: string; readonly code: string; readonly detail: string }
>

/** The findings of a set by file; those of rows in force stand in no file. */
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

/** A finding as a reason; a row that is in force stands on no line. */
export function tellFinding({ at, detail }: Finding): string {
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

import { Fault } from '../../schemas/fault.js'

/** The code of a failure that nobody foresaw; told from the start, so that the first is a change. */
export const unexpected = 'UNEXPECTED'

/** What a failure is counted under: its fault's code, and one for all that nobody foresaw. */
export function failureCode(error: unknown): string {
  return error instanceof Fault ? error.code : unexpected
}

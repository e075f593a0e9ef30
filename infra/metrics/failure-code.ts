import { Fault } from '../../schemas/fault.js'

/** What a failure is counted under: its fault's code, and one for all that nobody foresaw. */
export function failureCode(error: unknown): string {
  return error instanceof Fault ? error.code : 'UNEXPECTED'
}

import type { Logger } from 'pino'
import { Fault } from '../schemas/fault.js'
import type { Refusal } from './ledger/verdict.js'
import { type LimitedLine, logLimited } from './limited-log.js'
import type { JobIds, JobName } from './queues/jobs.js'

export interface FailedJob extends JobIds {
  readonly job: JobName
  readonly attempts?: number
  /** Of how many cycles, where several are computed together. */
  readonly cycles?: number
}

/**
 * Logs a failure by what may be known of it: ids, a fault's code and detail. An
 * unexpected error may quote a value of a row, so only its name and stack lines are logged. The same
 * failure of the same job is counted, whatever its file.
 */
export function logFailure(log: Logger, job: FailedJob, error: unknown): void {
  const { job: name } = job
  if (error instanceof Fault) logFault(log, error, { same: { job: name }, more: job })
  else {
    const same = { job: name, ...placeOf(error) }
    logLimited(log, { level: 'error', text: 'a job failed unexpectedly', same, more: job })
  }
}

/** Logs a fault, and how often it has been since. */
export function logFault(
  log: Logger,
  { code, detail }: Fault,
  { same, more }: Partial<Pick<LimitedLine, 'same' | 'more'>> = {},
): void {
  logLimited(log, { level: 'warn', text: detail, same: { ...same, code }, more })
}

function placeOf(error: unknown): { readonly error: string; readonly at?: readonly string[] } {
  if (!(error instanceof Error)) return { error: typeof error }
  const lines = error.stack?.split('\n') ?? []
  return { error: error.name, at: lines.filter((line) => /^\s+at /.test(line)) }
}

/** Why a file is quarantined after its last attempt. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Fault) return { fault: error.code, reason: error.detail }
  return { fault: 'ATTEMPTS', reason: 'all attempts failed; see the worker log' }
}

import type { createWorker } from '../pipeline/worker.js'
import { createChild } from './child.js'
import type { Secrets } from './secrets.js'
import type { Supervised } from './supervise.js'

/** What the worker runs with, apart from its log, which it opens itself. */
export interface WorkerOptions
  extends Omit<Parameters<typeof createWorker>[0], 'log' | 'tell' | 'mdm' | 'secret'> {
  /** The secrets that the sources and the section backfill of the profile refer to. */
  readonly secrets: Secrets
}

export interface WorkerProcessOptions {
  readonly options: WorkerOptions
  /** Folder for worker.log (structured) and worker.out (whatever else the process writes). */
  readonly logsPath: string
  readonly onEvent?: (event: string) => void
  /** Hears of each file that is quarantined, in one line. */
  readonly onTold?: (text: string) => void
}

/**
 * Runs the pipeline's worker as a supervised child process. Rejects with the fault that kept the
 * first start from succeeding.
 */
export function createWorkerProcess(options: WorkerProcessOptions): Promise<Supervised> {
  return createChild({ name: 'worker', stopMsMax: 20_000, ...options })
}

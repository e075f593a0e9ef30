import type { StoreAddress } from '../../../pipeline/store/clickhouse.js'
import type { createWorker } from '../../../pipeline/worker.js'
import type { TracingSettings } from '../../telemetry/otel.js'
import type { Secrets } from '../secrets.js'
import { type Child, createChild } from './child.js'

/** What the worker runs with, apart from its log, which it opens itself. */
export interface WorkerProcessOptions
  extends Omit<
    Parameters<typeof createWorker>[0],
    'log' | 'tell' | 'mdm' | 'alert' | 'secret' | 'tracing' | 'onDone' | 'onFailure'
  > {
  /** The secrets that the sources, backfill and alerts of the profile refer to. */
  readonly secrets: Secrets
  /** Who may read only: what watches the store. */
  readonly reader: StoreAddress
  readonly tracing?: TracingSettings | undefined
  /** Whether it listens for health and metrics. */
  readonly isWatched: boolean
}

/** What the worker's process says of itself. */
export interface WorkerDetail {
  /** Address of its operations port, where it has one. */
  readonly operations?: string | undefined
}

export interface WorkerChild {
  readonly options: WorkerProcessOptions
  /** Folder for worker.log (structured) and worker.out (whatever else the process writes). */
  readonly logsPath: string
  readonly onEvent?: (event: string) => void
  /** Hears of each file that is quarantined, in one line. */
  readonly onMessage?: (text: string) => void
}

/**
 * Runs the pipeline's worker as a supervised child process. Rejects with the fault that kept the
 * first start from succeeding.
 */
export function createWorkerProcess(options: WorkerChild): Promise<Child> {
  return createChild({ name: 'worker', stopMsMax: 20_000, ...options })
}

import type { StoreAddress } from '../../../pipeline/store/clickhouse.js'
import type { createWorker } from '../../../pipeline/worker.js'
import type { TracingSettings } from '../../telemetry/otel.js'
import type { Secrets } from '../secrets.js'
import { type Child, createChild } from './child.js'

/** Options of the worker process, except for what it creates itself. */
export interface WorkerProcessOptions
  extends Omit<
    Parameters<typeof createWorker>[0],
    'log' | 'notify' | 'mdm' | 'alert' | 'secret' | 'tracing' | 'onDone' | 'onFailure'
  > {
  /** Secrets of the profile's sources, backfill and alerts. */
  readonly secrets: Secrets
  /** Read-only credentials, for monitoring. */
  readonly reader: StoreAddress
  readonly tracing?: TracingSettings | undefined
  /** Whether it serves health and metrics. */
  readonly isWatched: boolean
}

/** State of the worker process. */
export interface WorkerDetail {
  /** Address of its operations port, if it has one. */
  readonly operations?: string | undefined
}

export interface WorkerChild {
  readonly options: WorkerProcessOptions
  /** Folder for worker.log (structured) and worker.out (other output of the process). */
  readonly logsPath: string
  readonly onEvent?: (event: string) => void
  /** Called with one line for each quarantined file. */
  readonly onMessage?: (text: string) => void
}

/**
 * Runs the pipeline's worker as a supervised child process. Rejects with the fault of the first start.
 */
export function createWorkerProcess(options: WorkerChild): Promise<Child> {
  return createChild({ name: 'worker', stopMsMax: 20_000, ...options })
}

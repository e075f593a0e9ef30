import { createWorker } from '../pipeline/worker.js'
import { serveParent } from './serve-parent.js'
import type { WorkerOptions } from './worker-process.js'

serveParent<WorkerOptions>('worker', (options, { log, tell }) =>
  createWorker({ ...options, log, tell }),
)

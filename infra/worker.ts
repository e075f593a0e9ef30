import { createWorker } from '../pipeline/worker.js'
import { revealFrom } from './secrets.js'
import { serveParent } from './serve-parent.js'
import type { WorkerOptions } from './worker-process.js'

serveParent<WorkerOptions>('worker', (options, log) =>
  createWorker({ ...options, secret: revealFrom(options.secrets), log }),
)

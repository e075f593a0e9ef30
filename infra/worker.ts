import { createRestMdm } from '../api/mdm/rest.js'
import { createWorker } from '../pipeline/worker.js'
import { revealFrom } from './secrets.js'
import { serveParent } from './serve-parent.js'
import type { WorkerOptions } from './worker-process.js'

serveParent<WorkerOptions>('worker', ({ secrets, ...options }, { log, tell }) => {
  const { backfill } = options.profile
  const mdm = backfill && createRestMdm(backfill, revealFrom(secrets))
  return createWorker({ ...options, mdm, log, tell })
})

import { createRestMdm } from '../api/mdm/rest.js'
import { createWorker } from '../pipeline/worker.js'
import { revealFrom } from './secrets.js'
import { serveParent } from './serve-parent.js'
import type { WorkerOptions } from './worker-process.js'

serveParent<WorkerOptions>('worker', ({ secrets, ...options }, { log, tell }) => {
  const { backfill } = options.profile
  const secret = revealFrom(secrets)
  const mdm = backfill && createRestMdm(backfill, secret)
  return createWorker({ ...options, secret, mdm, log, tell })
})

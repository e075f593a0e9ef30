import { createRestMdm } from '../api/mdm/rest.js'
import { createWorker } from '../pipeline/worker.js'
import type { Profile } from '../schemas/profile.js'
import { createAlerts } from './alerts/alerts.js'
import { createHealth, type Health, type HealthOptions } from './health.js'
import { failureCode } from './metrics/failure-code.js'
import { createWorkerMetrics } from './metrics/worker.js'
import { onFreePort } from './port.js'
import { revealFrom } from './secrets.js'
import { serveParent } from './serve-parent.js'
import type { WorkerDetail, WorkerOptions } from './worker-process.js'

serveParent<WorkerOptions>('worker', async ({ secrets, reader, ...options }, { log, tell }) => {
  const { profile, redisUrl, folders } = options
  const metrics = createWorkerMetrics({
    profile,
    redisUrl,
    reader,
    landing: folders.landing,
    onFailure: (error) =>
      log.warn({ code: failureCode(error) }, 'a scrape lacks what this would tell'),
  })
  const secret = revealFrom(secrets)
  const mdm = profile.backfill && createRestMdm(profile.backfill, secret)
  const { done: onDone, failed: onFailure } = metrics
  const { alerts: settings } = profile
  const alerts =
    settings &&
    createAlerts({
      profile,
      settings,
      store: options.store,
      redisUrl,
      landing: folders.landing,
      secret,
      log,
      onFailure,
    })
  const alert = alerts?.look
  const worker = await createWorker({
    ...options,
    secret,
    mdm,
    alert,
    log,
    tell,
    onDone,
    onFailure,
  })
  const health = options.isWatched
    ? await createOperations(profile, { ready: metrics.ready, metrics: metrics.scrape })
    : undefined
  const detail: WorkerDetail = { operations: health?.address }
  return {
    detail,
    close: async () => {
      health?.drain()
      await worker.close()
      await alerts?.close()
      await health?.close()
      await metrics.close()
    },
  }
})

const portWanted = 9_465

/** Where the profile names no port, several workers on one machine have one each. */
function createOperations(
  { worker: { operations } }: Profile,
  telling: Pick<HealthOptions, 'ready' | 'metrics'>,
): Promise<Health> {
  const { host, port } = operations
  const listen = (port: number) =>
    createHealth({ host, port, setting: 'worker.operations', ...telling })
  return port === undefined ? onFreePort(portWanted, listen) : listen(port)
}

import { renameSync } from 'node:fs'
import { createGateway } from '../../../api/gateway.js'
import { logFault } from '../../../pipeline/failure.js'
import { createOpenFeed } from '../../../pipeline/green-button/feed.js'
import { createSharedUsage } from '../../../pipeline/green-button/shared-usage.js'
import { createIntake } from '../../../pipeline/intake/intake.js'
import { Fault } from '../../../schemas/fault.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createChangeNotice } from '../../alerts/change-notice.js'
import { createGatewayMetrics } from '../../metrics/gateway.js'
import { createHealth } from '../../telemetry/health.js'
import type { Log } from '../../telemetry/log.js'
import { createRequestLog } from '../../telemetry/request-log.js'
import { startTracing } from '../../telemetry/tracing.js'
import { secretFrom } from '../secrets.js'
import type { GatewayDetail, GatewayProcessOptions } from './programs.js'
import { serveParent } from './serve-parent.js'

serveParent<GatewayProcessOptions>('gateway', async (options, { log }) => {
  const { profile, secrets, requestLogPath } = options
  const requests = createRequestLog(requestLogPath, (path) => renameSync(path, `${path}.1`))
  const onFailure = (error: unknown) => logFailure(log, error, '')
  const { folders } = options
  const tracing = await startTracing(options.tracing, { service: 'tieline-gateway', log })
  const intake = folders && (await createIntake({ ...options, folders, tracing, onFailure }))
  const metrics = createGatewayMetrics(() => gateway.figures())
  const feeding = { profile, zone: createZone(profile.timeZone), now: () => new Date() }
  const gateway = await createGateway({
    ...options,
    intake,
    openFeed: createOpenFeed(feeding),
    sharedUsage: createSharedUsage({ ...feeding, secret: secretFrom(secrets) }),
    tracing,
    secret: secretFrom(secrets),
    onRequest: (entry) => {
      requests.write(entry)
      metrics.answered(entry)
    },
    onFailure: (error, requestId) => {
      logFailure(log, error, requestId)
      metrics.failed(error)
    },
  })
  const { notify } = profile.reads ?? {}
  const notice =
    notify &&
    createChangeNotice({
      database: profile.database,
      settings: notify,
      store: options.store,
      secret: secretFrom(secrets),
      onFailure,
    })
  const health = await createHealth({
    ...(profile.gateway?.operations ?? { host: '127.0.0.1', port: 0 }),
    setting: 'gateway.operations',
    ready: gateway.ready,
    systems: () => gateway.figures().systems,
    metrics: metrics.scrape,
  })
  const detail: GatewayDetail = {
    addresses: gateway.listeners.map(({ address }) => address),
    operations: health.address,
  }
  return {
    detail,
    close: async () => {
      health.drain()
      await gateway.close()
      await notice?.close()
      await intake?.close()
      await health.close()
      await requests.close()
      await tracing?.close()
    },
  }
})

function logFailure(log: Log, error: unknown, requestId: string): void {
  const id = requestId === '' ? {} : { requestId }
  if (error instanceof Fault) logFault(log, error, { more: id })
  else log.error({ ...id, err: error }, 'a request failed unexpectedly')
}

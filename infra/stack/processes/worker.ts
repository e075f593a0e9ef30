import { createRestMdm } from '../../../api/mdm/rest.js'
import { logFault } from '../../../pipeline/failure.js'
import { createSystems } from '../../../pipeline/ledger/systems.js'
import { logLimited } from '../../../pipeline/limited-log.js'
import { createStore, type StoreAddress } from '../../../pipeline/store/clickhouse.js'
import { createWorker } from '../../../pipeline/worker.js'
import { Fault } from '../../../schemas/fault.js'
import type { HistoryAsked } from '../../../schemas/gateway/history.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import { createAlerts } from '../../alerts/alerts.js'
import { failureCode } from '../../metrics/registry.js'
import { createWorkerMetrics } from '../../metrics/worker.js'
import { createOperationsPage } from '../../operations/operations.js'
import {
  createHealth,
  type Health,
  type HealthOptions,
  type HealthTls,
} from '../../telemetry/health.js'
import { startTracing } from '../../telemetry/tracing.js'
import { isNamedIn, onFreePort } from '../port.js'
import { secretFrom } from '../secrets.js'
import type { WorkerDetail, WorkerProcessOptions } from './programs.js'
import { serveParent } from './serve-parent.js'

serveParent<WorkerProcessOptions>('worker', async ({ secrets, ...options }, { log, notify }) => {
  const { profile, redisUrl, folders } = options
  const secret = secretFrom(secrets)
  const warn = (error: unknown, text: string) =>
    logLimited(log, { level: 'warn', text, same: { code: failureCode(error) } })
  const office = createOffice(profile, {
    store: options.store,
    secret,
    onFailure: (fault) => logFault(log, fault),
  })
  const metrics = createWorkerMetrics({
    profile,
    redisUrl,
    store: options.store,
    landing: folders.landing,
    systems: office.failing,
    onFailure: (error) => warn(error, 'a source of metrics is missing in this scrape'),
  })
  const tracing = await startTracing(options.tracing, { service: 'tieline-worker', log })
  const { done: onDone, failed: onFailure } = metrics
  const { alerts: settings } = profile
  const alerts =
    settings &&
    createAlerts({ ...options, settings, landing: folders.landing, secret, log, onFailure })
  const alert = alerts?.notify
  const worker = await createWorker({
    ...options,
    secret,
    mdm: office.mdm,
    alert,
    log,
    tracing,
    notify,
    onDone,
    onFailure,
  })
  const operations = options.isWatched
    ? createOperationsPage({
        ...options,
        onFailure: (error) => warn(error, describe(error)),
      })
    : undefined
  const health =
    operations &&
    (await createOperations(profile, {
      ready: metrics.ready,
      systems: office.failing,
      metrics: metrics.scrape,
      page: operations.page,
      onFailure: ({ code, detail }) => log.error({ code }, detail),
    }))
  const detail: WorkerDetail = { operations: health?.address }
  return {
    detail,
    close: async () => {
      health?.drain()
      await worker.close()
      await alerts?.close()
      await health?.close()
      await operations?.close()
      await metrics.close()
      await office.close()
      await tracing?.close()
    },
  }
})

interface OfficeOptions {
  readonly store: StoreAddress
  readonly secret: ReturnType<typeof secretFrom>
  readonly onFailure: (fault: Fault) => void
}

/** The MDM of a profile, whose outcomes are recorded; the worker closes the driver. */
function createOffice(profile: Profile, options: OfficeOptions) {
  const store = createStore(options.store, 'discreet', profile.store)
  const systems = createSystems({ store, profile, kinds: ['mdm'], onFailure: options.onFailure })
  const driver = profile.backfill && createRestMdm(profile.backfill, options.secret)
  return {
    mdm: driver && {
      ...driver,
      history: (asked: HistoryAsked) => systems.watch('mdm', driver.history(asked)),
    },
    failing: systems.failing,
    close: async () => {
      await systems.close()
      await store.close()
    },
  }
}

const portWanted = 9_465

/** The message of an unexpected error may quote data, so it is not logged. */
function describe(error: unknown): string {
  return error instanceof Fault ? error.detail : 'the operations page failed unexpectedly'
}

/** Without a port in the profile, each worker of a machine takes the next free one. */
function createOperations(
  profile: Profile,
  {
    onFailure,
    ...serving
  }: Pick<HealthOptions, 'ready' | 'systems' | 'metrics' | 'page'> & Pick<HealthTls, 'onFailure'>,
): Promise<Health> {
  const { host, port, tls: files, certificateSeconds } = profile.worker.operations
  const tls = files && { files, everyMs: certificateSeconds * 1_000, onFailure }
  const listen = (port: number) =>
    createHealth({ host, port, tls, setting: 'worker.operations', ...serving })
  if (port !== undefined) return listen(port)
  return onFreePort(portWanted, listen, isNamedIn(profile, host))
}

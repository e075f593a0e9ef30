import type { StoreAddress } from '../../../pipeline/store/clickhouse.js'
import type { createWorker } from '../../../pipeline/worker.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import type { SecretReference } from '../../../schemas/settings/secret.js'
import type { TracingSettings } from '../../telemetry/otel.js'
import { collectSecrets, type Secrets } from '../secrets.js'
import { type Child, type ChildOptions, createChild } from './child.js'

type Launch<O> = Pick<
  ChildOptions<O>,
  'options' | 'logsPath' | 'onEvent' | 'onRestart' | 'onMessage'
>

/** Options of the gateway process. */
export interface GatewayProcessOptions {
  readonly profile: Profile
  readonly store: StoreAddress
  /** For the section `reads`. */
  readonly reader: StoreAddress
  readonly redisUrl: string
  /** Folders of uploaded files and of pushed rows; without them the gateway accepts neither. */
  readonly folders?: { readonly uploads: string; readonly pushed: string }
  /** Key of the hashes of identifiers and tokens. */
  readonly key: string
  readonly tracing?: TracingSettings | undefined
  /** File with one line per request. */
  readonly requestLogPath: string
  /** The secrets that the profile refers to. */
  readonly secrets: Secrets
}

/** State of the gateway process. */
export interface GatewayDetail {
  /** Addresses of the listeners, login's first. */
  readonly addresses: readonly string[]
  readonly operations: string
}

export interface GatewayLaunch extends Launch<Omit<GatewayProcessOptions, 'secrets'>> {
  readonly secret: (reference: SecretReference) => string
}

/** MB. A larger young generation is collected less often, and then a login waits longer: 10 to 25 ms with 64. */
const youngMb = 16
/** Headers up to this multiple of the limit are still read, so that their refusal is logged. */
const overlong = 2
/** To close what the gateway uses, after its last answer. */
const closeMs = 5_000

/**
 * Runs the gateway as a supervised child process. A stop answers requests in flight first, for up to
 * limits.stopMsMax. Rejects with the fault of the first start, such as a certificate or a port.
 */
export function createGatewayProcess(launch: GatewayLaunch): Promise<Child<GatewayDetail>> {
  const { secret, options, ...rest } = launch
  const limits = options.profile.gateway?.limits
  const headerBytesMax = (limits?.headerBytesMax ?? 0) * overlong
  return createChild<GatewayProcessOptions, GatewayDetail>({
    ...rest,
    name: 'gateway',
    options: { ...options, secrets: collectSecrets(options.profile, secret) },
    environment: { UWS_HTTP_MAX_HEADERS_SIZE: String(headerBytesMax) },
    nodeOptions: [`--max-semi-space-size=${youngMb}`],
    stopMsMax: (limits?.stopMsMax ?? 0) + closeMs,
  })
}

/** Options of the worker process, except for what it creates itself. */
export interface WorkerProcessOptions
  extends Omit<
    Parameters<typeof createWorker>[0],
    'log' | 'notify' | 'mdm' | 'alert' | 'secret' | 'tracing' | 'onDone' | 'onFailure'
  > {
  /** Secrets of the profile's sources, backfill and alerts. */
  readonly secrets: Secrets
  readonly tracing?: TracingSettings | undefined
  /** Whether it serves health and metrics. */
  readonly isWatched: boolean
}

/** State of the worker process. */
export interface WorkerDetail {
  /** Address of its operations port, if it has one. */
  readonly operations?: string | undefined
}

/**
 * Runs the pipeline's worker as a supervised child process, which sends a message for each quarantined
 * file. Rejects with the fault of the first start.
 */
export function createWorkerProcess(
  launch: Launch<WorkerProcessOptions>,
): Promise<Child<WorkerDetail>> {
  return createChild({ ...launch, name: 'worker', stopMsMax: 20_000 })
}

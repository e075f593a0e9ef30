import type { StoreAddress } from '../../../pipeline/store/clickhouse.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import type { SecretReference } from '../../../schemas/settings/secret.js'
import type { TracingSettings } from '../../telemetry/otel.js'
import { collectSecrets, type Secrets } from '../secrets.js'
import { type Child, createChild } from './child.js'

/** What the gateway's process is started with. */
export interface GatewayProcessOptions {
  readonly profile: Profile
  readonly store: StoreAddress
  readonly redisUrl: string
  /** Where uploaded files and those made of pushed rows lie; without it nothing can be sent. */
  readonly folders?: { readonly uploads: string; readonly pushed: string }
  /** Hashes identifiers and tokens. */
  readonly key: string
  readonly tracing?: TracingSettings | undefined
  /** One line for each request. */
  readonly requestLogPath: string
  /** The secrets that the profile refers to. */
  readonly secrets: Secrets
}

/** What the gateway's process says of itself. */
export interface GatewayDetail {
  /** Addresses of the listeners, login's first. */
  readonly addresses: readonly string[]
  readonly operations: string
}

export interface GatewayChild {
  readonly options: Omit<GatewayProcessOptions, 'secrets'>
  readonly secret: (reference: SecretReference) => string
  readonly logsPath: string
  readonly onEvent?: (event: string) => void
}

/** Requests leave much behind that dies young; collecting it is cheaper the more may gather, MB. */
const youngMb = 64
/** A header up to this many times its limit is read all the same, so that its refusal is logged. */
const overlong = 2
/** A stop answers what is in flight first, which limits.stopMsMax bounds; then this runs out. */
const stopMsMax = 15_000

/**
 * Runs the gateway as a supervised child process. Rejects with the fault that kept the first start
 * from succeeding: the profile's, a certificate's, a port's.
 */
export async function createGatewayProcess(child: GatewayChild): Promise<Child> {
  const { profile } = child.options
  const headerBytesMax = (profile.gateway?.limits.headerBytesMax ?? 0) * overlong
  return createChild<GatewayProcessOptions>({
    name: 'gateway',
    options: { ...child.options, secrets: collectSecrets(profile, child.secret) },
    logsPath: child.logsPath,
    environment: { UWS_HTTP_MAX_HEADERS_SIZE: String(headerBytesMax) },
    nodeOptions: [`--max-semi-space-size=${youngMb}`],
    stopMsMax,
    ...(child.onEvent && { onEvent: child.onEvent }),
  })
}

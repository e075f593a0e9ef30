import type { StoreAddress } from '../../../pipeline/store/clickhouse.js'
import type { Profile } from '../../../schemas/settings/profile.js'
import type { SecretReference } from '../../../schemas/settings/secret.js'
import type { TracingSettings } from '../../telemetry/otel.js'
import { collectSecrets, type Secrets } from '../secrets.js'
import { type Child, createChild } from './child.js'

/** Options of the gateway process. */
export interface GatewayProcessOptions {
  readonly profile: Profile
  readonly store: StoreAddress
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

export interface GatewayChild {
  readonly options: Omit<GatewayProcessOptions, 'secrets'>
  readonly secret: (reference: SecretReference) => string
  readonly logsPath: string
  readonly onEvent?: (event: string) => void
}

/** Requests create many short-lived objects; a large young generation makes collecting cheaper, MB. */
const youngMb = 64
/** Headers up to this multiple of the limit are still read, so that their refusal is logged. */
const overlong = 2
/** A stop answers requests in flight first, for up to limits.stopMsMax, which has to be lower. */
const stopMsMax = 15_000

/**
 * Runs the gateway as a supervised child process. Rejects with the fault of the first start, such as
 * a certificate or a port.
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

import type { SecretReference } from '../../schemas/settings/secret.js'
import type { External } from '../stack/addresses.js'
import type { TracingSettings } from '../telemetry/otel.js'

/** The global options and the environment of a command, read once in main.ts. */
export interface Context {
  readonly homePath: string
  /** Undefined if the command line names none. */
  readonly profilePath: string | undefined
  readonly external: External
  /** The secret that a profile refers to. Throws `CONFIG` if it is not set. */
  readonly secret: (reference: SecretReference) => string
  /** Undefined unless OTEL_ variables name an endpoint. Throws `CONFIG`. */
  readonly tracing: () => TracingSettings | undefined
  /** TIELINE_INSTALL=1: missing programs may be installed with sudo. */
  readonly installs: boolean
  /** Fires on Ctrl-C and on a signal to end. */
  readonly ending: AbortSignal
  /** Results, on standard output. */
  readonly print: (text: string) => void
  /** Progress and notices, on standard error. */
  readonly say: (text: string) => void
}

/** Exit codes of commands. */
export const exitCodes = { good: 0, fault: 1, quarantined: 2, interrupted: 130 } as const

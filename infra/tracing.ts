import type { Tracing } from '../pipeline/queues/tracing.js'
import { Fault } from '../schemas/fault.js'
import type { Log } from './log.js'

/** Where traces are sent; what else OTEL_ variables set, OpenTelemetry reads for itself. */
export interface TracingSettings {
  readonly url: string
}

export interface TracingOptions {
  /** `service.name`, unless OTEL_SERVICE_NAME gives another. */
  readonly service: string
  readonly log: Log
}

/** Tracing while it is on. `close` sends what is left, for a bounded time. */
export interface OpenTracing extends Tracing {
  close(): Promise<void>
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * What the standard variables say of traces: undefined, which is off, unless they name an endpoint.
 * Throws `CONFIG`.
 */
export function readTracing(env: Environment): TracingSettings | undefined {
  const shared = env['OTEL_EXPORTER_OTLP_ENDPOINT']
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']
  const isOff = env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none'
  if (isOff || (!shared && !own)) return undefined
  refuseProtocol(env)
  if (own) return { url: checked('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', own) }
  const url = checked('OTEL_EXPORTER_OTLP_ENDPOINT', shared ?? '')
  return { url: `${url.replace(/\/$/, '')}/v1/traces` }
}

/** Starts tracing where it is set; nothing of OpenTelemetry is loaded where it is not. */
export async function startTracing(
  settings: TracingSettings | undefined,
  options: TracingOptions,
): Promise<OpenTracing | undefined> {
  if (settings === undefined) return undefined
  const { createTracing } = await import('./otel.js')
  return createTracing(settings, options)
}

function refuseProtocol(env: Environment): void {
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const protocol = env[name]
    if (!protocol || protocol === 'http/json') continue
    throw new Fault(
      'CONFIG',
      `${name} is ${protocol}; traces are sent as http/json: set it to that`,
    )
  }
}

/** The address is not repeated: it may hold a password. */
function checked(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href
  throw new Fault('CONFIG', `${name} must begin with http:// or https://`)
}

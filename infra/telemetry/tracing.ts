import { Fault } from '../../schemas/fault.js'
import type { OpenTracing, TracingOptions, TracingSettings } from './otel.js'
import {
  type Environment,
  expectWellFormed,
  exporterVariable,
  settingOf,
} from './tracing-variables.js'

const sharedEndpoint = 'OTEL_EXPORTER_OTLP_ENDPOINT'

/**
 * What the standard variables say of traces: undefined, which is off, unless they name an endpoint.
 * Throws `CONFIG`.
 */
export function readTracing(env: Environment): TracingSettings | undefined {
  const isOff = settingOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true'
  if (isOff || settingOf(env, 'OTEL_TRACES_EXPORTER') === 'none') return undefined
  const name = exporterVariable(env, 'ENDPOINT')
  const text = settingOf(env, name)
  if (text === undefined) return undefined
  expectWellFormed(env)
  const url = toUrl(name, text)
  if (name === sharedEndpoint) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`
  return { url: url.href }
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

/** The address is not repeated: it may hold a password. */
function toUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new Fault('CONFIG', `${name} must begin with http:// or https://`)
}

import { accessSync, constants } from 'node:fs'
import { z } from 'zod'
import { Fault } from '../../schemas/fault.js'
import type { OpenTracing, TracingOptions, TracingSettings } from './otel.js'

type Environment = Readonly<Record<string, string | undefined>>

const sharedEndpoint = 'OTEL_EXPORTER_OTLP_ENDPOINT'

const oneOf = (...values: readonly string[]) => z.enum(values, `be one of ${values.join(', ')}`)
/** Keeps a queue within memory, and milliseconds within the range of a timer. */
const whole = z.string().regex(/^[1-9]\d{0,5}$/, 'be a whole number from 1 to 999999')
const ratio = z.string().regex(/^(0?\.\d+|0|1(\.0+)?)$/, 'be a number from 0 to 1')
const file = z.string().refine(isReadable, 'name a file that can be read')

/** Set by OTEL_EXPORTER_OTLP_TRACES_ for traces, or by OTEL_EXPORTER_OTLP_ for all signals. */
const exporterVariables = {
  PROTOCOL: z.literal('http/json', 'be http/json'),
  COMPRESSION: oneOf('none', 'gzip'),
  TIMEOUT: whole,
  CERTIFICATE: file,
  CLIENT_CERTIFICATE: file,
  CLIENT_KEY: file,
} as const

const otherVariables = {
  OTEL_TRACES_EXPORTER: oneOf('otlp', 'none'),
  OTEL_TRACES_SAMPLER: oneOf(
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ),
  OTEL_TRACES_SAMPLER_ARG: ratio,
  OTEL_BSP_SCHEDULE_DELAY: whole,
  OTEL_BSP_EXPORT_TIMEOUT: whole,
  OTEL_BSP_MAX_QUEUE_SIZE: whole,
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: whole,
} as const

/**
 * The tracing settings of the standard variables: undefined, which is off, unless they name an
 * endpoint. Throws `CONFIG`.
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

/** Starts tracing if it is configured; otherwise nothing of OpenTelemetry is loaded. */
export async function startTracing(
  settings: TracingSettings | undefined,
  options: TracingOptions,
): Promise<OpenTracing | undefined> {
  if (settings === undefined) return undefined
  const { createTracing } = await import('./otel.js')
  return createTracing(settings, options)
}

/**
 * Throws `CONFIG` for a variable that OpenTelemetry would ignore without a message, or fail on: with
 * a batch size of 0 its shutdown allocates until memory is exhausted.
 */
function expectWellFormed(env: Environment): void {
  const forms = [
    ...Object.entries(exporterVariables).map(
      ([name, form]) => [exporterVariable(env, name), form] as const,
    ),
    ...Object.entries(otherVariables),
  ]
  for (const [name, form] of forms) {
    const value = settingOf(env, name)
    const issue = value === undefined ? undefined : form.safeParse(value).error?.issues[0]
    if (issue) throw new Fault('CONFIG', `${name} is ${value}; it must ${issue.message}`)
  }
}

/** The variable for traces if it is set, otherwise the one for all signals. */
function exporterVariable(env: Environment, name: string): string {
  const own = `OTEL_EXPORTER_OTLP_TRACES_${name}`
  return settingOf(env, own) === undefined ? `OTEL_EXPORTER_OTLP_${name}` : own
}

/** The value of a variable; blank is the same as not set. */
function settingOf(env: Environment, name: string): string | undefined {
  const value = env[name]
  return value?.trim() === '' ? undefined : value
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** The address is not repeated in the message: it may contain a password. */
function toUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url
  throw new Fault('CONFIG', `${name} must begin with http:// or https://`)
}

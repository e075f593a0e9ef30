import { accessSync, constants } from 'node:fs'
import { Fault } from '../../schemas/fault.js'

export type Environment = Readonly<Record<string, string | undefined>>

interface Form {
  readonly fits: (value: string) => boolean
  readonly must: string
}

const oneOf = (...values: readonly string[]): Form => ({
  fits: (value) => values.includes(value),
  must: values.length === 1 ? `be ${values[0]}` : `be one of ${values.join(', ')}`,
})
/** A queue stays within memory, and milliseconds within what a timer can count. */
const whole: Form = {
  fits: (value) => /^[1-9]\d{0,5}$/.test(value),
  must: 'be a whole number from 1 to 999999',
}
const share: Form = {
  fits: (value) => /^(0?\.\d+|0|1(\.0+)?)$/.test(value),
  must: 'be a number from 0 to 1',
}
const file: Form = { fits: isReadable, must: 'name a file that can be read' }

/** Those that OTEL_EXPORTER_OTLP_TRACES_ sets for traces, and OTEL_EXPORTER_OTLP_ for all there is. */
const ofExporter = {
  PROTOCOL: oneOf('http/json'),
  COMPRESSION: oneOf('none', 'gzip'),
  TIMEOUT: whole,
  CERTIFICATE: file,
  CLIENT_CERTIFICATE: file,
  CLIENT_KEY: file,
} as const satisfies Record<string, Form>

const others = {
  OTEL_TRACES_EXPORTER: oneOf('otlp', 'none'),
  OTEL_TRACES_SAMPLER: oneOf(
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ),
  OTEL_TRACES_SAMPLER_ARG: share,
  OTEL_BSP_SCHEDULE_DELAY: whole,
  OTEL_BSP_EXPORT_TIMEOUT: whole,
  OTEL_BSP_MAX_QUEUE_SIZE: whole,
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: whole,
} as const satisfies Record<string, Form>

/**
 * Throws `CONFIG` for a variable that OpenTelemetry would pass over without a word, or choke on: a
 * batch of no spans is never sent off.
 */
export function expectWellFormed(env: Environment): void {
  const forms = [
    ...Object.entries(ofExporter).map(([of, form]) => [exporterVariable(env, of), form] as const),
    ...Object.entries(others),
  ]
  for (const [name, { fits, must }] of forms) {
    const value = settingOf(env, name)
    if (value === undefined || fits(value)) continue
    throw new Fault('CONFIG', `${name} is ${value}; it must ${must}`)
  }
}

/** The name under which what traces go by is set: their own, where that is set at all. */
export function exporterVariable(env: Environment, of: string): string {
  const own = `OTEL_EXPORTER_OTLP_TRACES_${of}`
  return settingOf(env, own) === undefined ? `OTEL_EXPORTER_OTLP_${of}` : own
}

/** What a variable is set to; blank is the same as not set. */
export function settingOf(env: Environment, name: string): string | undefined {
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

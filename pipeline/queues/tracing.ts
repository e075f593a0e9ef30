import type { Telemetry } from 'bullmq'
import type { Tracer } from '../../schemas/tracer.js'
import { type JobName, repeated } from './jobs.js'

/** Records requests, statements and jobs; undefined if traces are off. */
export interface Tracing {
  readonly tracer: Tracer
  readonly telemetry: Telemetry
}

/**
 * BullMQ's setting for what hears of jobs, where anything does. A job goes on in the trace in which it
 * was queued; only one that repeats itself begins one each time, else its first would grow for ever.
 */
export function telemetryOf(options: {
  readonly telemetry?: Telemetry | undefined
  readonly name?: JobName
}): { readonly telemetry?: Telemetry } {
  const { telemetry, name } = options
  if (telemetry === undefined) return {}
  if (!repeated.some((one) => one === name)) return { telemetry }
  const { contextManager, tracer } = telemetry
  const root = contextManager.root ?? contextManager.active
  return {
    telemetry: { tracer, contextManager: { ...contextManager, fromMetadata: () => root() } },
  }
}

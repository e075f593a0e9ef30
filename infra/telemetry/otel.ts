import {
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import type { Telemetry } from 'bullmq'
import { BullMQOtel } from 'bullmq-otel'
import { withDeadline } from '../../pipeline/deadline.js'
import type { Tracing } from '../../pipeline/queues/tracing.js'
import { Fault } from '../../schemas/fault.js'
import type { Tracer } from '../../schemas/tracer.js'
import { packageVersion } from '../package-root.js'
import type { Log } from './log.js'
import { withAllowedAttributes } from './span-attributes.js'

/** Where traces are sent; OpenTelemetry reads all other OTEL_ variables itself. */
export interface TracingSettings {
  readonly url: string
}

export interface TracingOptions {
  /** `service.name`, unless OTEL_SERVICE_NAME is set. */
  readonly service: string
  readonly log: Log
}

/** Running tracing. `close` sends the remaining spans, for a bounded time. */
export interface OpenTracing extends Tracing {
  close(): Promise<void>
}

/** How long a stop waits for a trace receiver that is slow or unreachable. */
const closeMsMax = 2_000

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const

/**
 * OpenTelemetry, loaded only where it is on: spans go to `url` in batches, from a queue of bounded
 * length that drops what does not fit. Nothing waits for the receiver, and of one that is away one
 * line in the log tells, until it has answered again.
 */
export function createTracing(
  { url }: TracingSettings,
  { service, log }: TracingOptions,
): OpenTracing {
  const own = { 'service.name': service, 'service.version': packageVersion() }
  const resource = defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }))
  const hear = createResultLog(url, log)
  const exporter = withAllowedAttributes(new OTLPTraceExporter({ url }), hear)
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  const propagator = new W3CTraceContextPropagator()
  provider.register({ propagator })
  return {
    tracer: createTracer(propagator),
    telemetry: createTelemetry(),
    close: async () => {
      const closed = provider.shutdown().catch(() => undefined)
      await withDeadline(closed, closeMsMax, () => hear({ code: ExportResultCode.FAILED }))
    },
  }
}

function createTracer(propagator: W3CTraceContextPropagator): Tracer {
  const tracer = trace.getTracer('tieline')
  const getter = {
    get: (field: Record<string, string>, name: string) => field[name],
    keys: Object.keys,
  }
  return {
    trace: (of, act) => {
      const { name, attributes, caller, outcome } = of
      const around =
        caller === undefined
          ? context.active()
          : propagator.extract(ROOT_CONTEXT, { traceparent: caller }, getter)
      const span = tracer.startSpan(name, { kind: kinds[of.kind], attributes }, around)
      const end = <R>(result: R): R => {
        const added = outcome?.(result as Parameters<NonNullable<typeof outcome>>[0]) ?? {}
        span.setAttributes(added)
        if ('error.type' in added) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
        return result
      }
      return context.with(trace.setSpan(around, span), () => {
        try {
          const result = act()
          if (!(result instanceof Promise)) return end(result)
          return result.then(end, (error: unknown) => fail(span, error)) as typeof result
        } catch (error) {
          return fail(span, error)
        }
      })
    },
  }
}

/** Of a failure its code alone is told. */
function fail(span: Span, error: unknown): never {
  span.setAttribute('error.type', error instanceof Fault ? error.code : 'UNEXPECTED')
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
  throw error
}

/**
 * BullMQ's spans of jobs that are added and done. What it does for itself (looking for jobs, renewing
 * locks, ending one) is left out: idle workers would tell of nothing else.
 */
function createTelemetry(): Telemetry {
  const { tracer, contextManager } = new BullMQOtel({ tracerName: 'bullmq' })
  return {
    tracer: {
      startSpan: (name, options, around) =>
        options?.kind === SpanKind.INTERNAL ? unseen : tracer.startSpan(name, options, around),
    },
    contextManager: {
      with: (around, act) => contextManager.with(around, act),
      active: () => contextManager.active(),
      root: () => ROOT_CONTEXT,
      getMetadata: (around) => contextManager.getMetadata(around),
      fromMetadata: (active, metadata) => contextManager.fromMetadata(active, metadata),
    },
  }
}

const nothing = () => undefined

/** What happens within belongs to what is around it. */
const unseen: ReturnType<Telemetry['tracer']['startSpan']> = {
  setSpanOnContext: (around) => around,
  setAttribute: nothing,
  setAttributes: nothing,
  addEvent: nothing,
  recordException: nothing,
  end: nothing,
}

/** Tells once that spans cannot be sent, and once that they are again. */
function createResultLog(url: string, log: TracingOptions['log']): (result: ExportResult) => void {
  const { origin } = new URL(url)
  let isAway = false
  return ({ code, error }) => {
    const failed = code === ExportResultCode.FAILED
    if (failed === isAway) return
    isAway = failed
    if (!failed) log.info(`traces are sent to ${origin} again`)
    else {
      const reason = (error as NodeJS.ErrnoException | undefined)?.code ?? 'unavailable'
      const detail = `${origin} takes no traces (${reason}); they are dropped until it does`
      log.warn({ code: 'TRACES_UNREACHABLE' }, detail)
    }
  }
}

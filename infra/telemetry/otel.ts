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
 * OpenTelemetry, loaded only when tracing is on. Spans are sent to `url` in batches from a bounded
 * queue that drops the excess. Nothing waits for the receiver; an outage is logged once, and once
 * more when it ends.
 */
export function createTracing(
  { url }: TracingSettings,
  { service, log }: TracingOptions,
): OpenTracing {
  const own = { 'service.name': service, 'service.version': packageVersion() }
  const resource = defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }))
  const logResult = createResultLog(url, log)
  const exporter = withAllowedAttributes(new OTLPTraceExporter({ url }), logResult)
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
      await withDeadline(closed, closeMsMax, () => logResult({ code: ExportResultCode.FAILED }))
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

/** Records only the code of a failure. */
function fail(span: Span, error: unknown): never {
  span.setAttribute('error.type', error instanceof Fault ? error.code : 'UNEXPECTED')
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
  throw error
}

/**
 * BullMQ's spans of added and processed jobs. Its internal spans (polling, lock renewal, cleanup) are
 * left out, because idle workers would send nothing else.
 */
function createTelemetry(): Telemetry {
  const { tracer, contextManager } = new BullMQOtel({ tracerName: 'bullmq' })
  return {
    tracer: {
      startSpan: (name, options, parent) =>
        options?.kind === SpanKind.INTERNAL ? untraced : tracer.startSpan(name, options, parent),
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

/** A span that is not recorded: its children belong to its parent. */
const untraced: ReturnType<Telemetry['tracer']['startSpan']> = {
  setSpanOnContext: (around) => around,
  setAttribute: nothing,
  setAttributes: nothing,
  addEvent: nothing,
  recordException: nothing,
  end: nothing,
}

/** Logs once that spans cannot be sent, and once that they are sent again. */
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
      const detail = `${origin} does not accept traces (${reason}); they are dropped until it does`
      log.warn({ code: 'TRACES_UNREACHABLE' }, detail)
    }
  }
}

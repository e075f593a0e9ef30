import type { SpanStatusCode } from '@opentelemetry/api'
import type { ExportResult } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node'

const errorStatus: SpanStatusCode.ERROR = 2
const word = /^[\w./* -]{1,80}$/
const code = /^[A-Z0-9_]{1,40}$/

/**
 * The allowed attributes of a span and the form of their values. Everything else that a library
 * records (options, results, messages, stacks, ids derived from a meter) is not sent.
 */
const allowed: Readonly<Record<string, RegExp>> = {
  'http.request.method': code,
  'http.route': word,
  'http.response.status_code': word,
  'db.system.name': word,
  'db.operation.name': code,
  'db.collection.name': word,
  'bullmq.queue.name': word,
  'bullmq.queue.operation': word,
  'bullmq.job.name': word,
  // Step, arrival and chunk.
  'bullmq.job.id': /^[a-zA-Z]+(-\d{1,10}){1,2}$/,
  'bullmq.job.attempts.made': word,
  'bullmq.job.failed.reason': code,
  'error.type': code,
}

/** Wraps an exporter: spans keep only allowed attributes, and `onResult` gets each result. */
export function withAllowedAttributes(
  exporter: SpanExporter,
  onResult: (result: ExportResult) => void,
): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans.map(toAllowed), (result) => {
        onResult(result)
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}

function toAllowed(span: ReadableSpan): ReadableSpan {
  const isFailed = span.events.some(({ name }) => name === 'job failed')
  const code = isFailed ? errorStatus : span.status.code
  const events = span.events.map(({ name, time, attributes = {} }) => ({
    name,
    time,
    attributes: allowedOf(attributes),
  }))
  const value = { attributes: allowedOf(span.attributes), events, links: [], status: { code } }
  return Object.assign(Object.create(span) as ReadableSpan, value)
}

function allowedOf(attributes: ReadableSpan['attributes']): ReadableSpan['attributes'] {
  return Object.fromEntries(
    Object.entries(attributes).filter(([key, value]) => allowed[key]?.test(String(value))),
  )
}

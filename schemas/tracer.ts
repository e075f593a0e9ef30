/** Our own codes, counts and names; never a value of a request, a row or a parameter. */
export type SpanAttributes = Readonly<Record<string, string | number>>

/** One operation as a span. */
export interface SpanOf<T> {
  readonly name: string
  readonly kind: 'server' | 'client'
  readonly attributes: SpanAttributes
  /** `traceparent` of whoever asked for it (W3C Trace Context); without it, it is part of what is under way. */
  readonly caller?: string | undefined
  /** What the result adds; `error.type` among it says that it failed. */
  readonly outcome?: (result: Awaited<T>) => SpanAttributes
}

/** Records how long operations take and what they are part of. Undefined where tracing is off. */
export interface Tracer {
  /** Does it as a span: what begins meanwhile is part of it. Result and failure are passed on. */
  trace<T>(span: SpanOf<T>, act: () => T): T
}

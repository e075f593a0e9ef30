import type { SpanAttributes, Tracer } from '../schemas/tracer.js'
import type { GatewayRequest, GatewayResponse, Handling } from './request.js'
import type { createMatch } from './route.js'

export interface TracedOptions {
  readonly tracer: Tracer
  readonly match: ReturnType<typeof createMatch>
}

/** Method and route from the route table: the path of the request may contain an account. */
type SpanRoute = { readonly method: string; readonly route: string }

const nowhere: SpanRoute = { method: '_OTHER', route: 'none' }

/** Adds a span for each request, in the trace of its caller if the request has one. */
export function traceRequests(handling: Handling, { tracer, match }: TracedOptions): Handling {
  const placeOf = (request: GatewayRequest): SpanRoute => {
    const found = match(request)
    if (found.kind !== 'route') return nowhere
    return { method: found.route.method, route: `/${found.version}${found.route.path}` }
  }
  const spanOf = ({ method, route }: SpanRoute) => ({
    name: `${method} ${route}`,
    kind: 'server' as const,
    attributes: { 'http.request.method': method, 'http.route': route },
    outcome: toAttributes,
  })
  return {
    ...handling,
    handle: (request) => {
      const span = { ...spanOf(placeOf(request)), caller: request.traceparent }
      return tracer.trace(span, () => handling.handle(request))
    },
    refuse: (status, request) =>
      tracer.trace(spanOf(nowhere), () => handling.refuse(status, request)),
  }
}

function toAttributes({ status }: GatewayResponse): SpanAttributes {
  const failed = status >= 500 && { 'error.type': String(status) }
  return { 'http.response.status_code': status, ...failed }
}

import { finished } from 'node:stream'
import { withDeadline } from '../pipeline/deadline.js'
import { Fault } from '../schemas/fault.js'
import type { ErrorStyle, GatewayVersion } from '../schemas/settings/gateway.js'
import type { Tracer } from '../schemas/tracer.js'
import { type Answer, type ErrorStyleOf, type Rendered, readCut, render } from './answer.js'
import type {
  GatewayRequest,
  GatewayResponse,
  Handle,
  Handling,
  IsStreamed,
  Refuse,
} from './request.js'
import { createMatch, type Route } from './route.js'
import { traceRequests } from './traced.js'

/** One request for the log: codes and hashes, never a token, a name or an address. */
export interface RequestEntry {
  readonly route: string
  readonly status: number
  readonly errorCode: number | undefined
  readonly ms: number
  readonly requestId: string
  readonly pseudonym: string | undefined
  /** One of the reasons of this release, except where the answer is a 400: it counts in metrics. */
  readonly reason: string | undefined
  /** What the client chose; never a label of a metric. */
  readonly reasonDetail: string | undefined
}

export interface HandleOptions {
  readonly routes: readonly Route[]
  readonly versions: readonly GatewayVersion[]
  readonly errorStyle: ErrorStyle
  readonly unknownStatus: 401 | 404
  readonly answerMsMax: number
  readonly requestsInFlightMax: number
  readonly log: (entry: RequestEntry) => void
  readonly tracer?: Tracer | undefined
  /** Reports an external fault or a program error with its cause. */
  readonly onFailure: (error: unknown, requestId: string) => void
}

const breakerRetrySeconds = 5

/**
 * Handles every request: match, authenticate, parse, resolve, respond. Only this function turns a
 * failure into a status. It always responds and always writes a log line.
 */
export function createHandling(options: HandleOptions): Handling {
  const match = createMatch(
    options.routes,
    options.versions.map(({ name }) => name),
  )
  const notices = versionHeaders(options.versions)
  const styles = {
    kept: { style: 'table', unknownStatus: options.unknownStatus },
    chosen: { style: options.errorStyle, unknownStatus: options.unknownStatus },
    bare: {
      style: options.errorStyle,
      unknownStatus: options.unknownStatus,
      hidesDetail: true,
    },
  } as const satisfies Record<string, ErrorStyleOf>
  let inFlight = 0

  const fail = (error: unknown, id: string): Answer => {
    options.onFailure(error, id)
    if (!(error instanceof Fault)) return { kind: 'bare', status: 500, reason: 'UNEXPECTED' }
    const passing = error.retry ? { retrySeconds: breakerRetrySeconds } : {}
    return { kind: 'outage', reason: error.code, ...passing }
  }
  /** Why a download ended before its end: the client left, or what failed. */
  const reasonOf = (error: unknown, id: string): string | undefined => {
    if (error === null || error === undefined) return undefined
    return readCut(error) ?? fail(error, id).reason
  }
  const respond = (
    request: Begun,
    { route, version }: Reached,
    answer: Answer,
  ): GatewayResponse => {
    const style = route.hidesDetail ? styles.bare : styles.chosen
    const rendered = render(answer, route.keepsCode ? styles.kept : style)
    const log = (reason = answer.reason) =>
      options.log({
        route: route.name,
        status: rendered.status,
        errorCode: rendered.errorCode,
        ms: performance.now() - request.startedAt,
        requestId: request.id,
        pseudonym: answer.pseudonym,
        reason,
        reasonDetail: answer.reasonDetail,
      })
    if (rendered.stream === undefined) log()
    else finished(rendered.stream, (error) => log(reasonOf(error, request.id)))
    return toResponse(rendered, notices.get(version) ?? none, request.id)
  }
  const handle: Handle = (request) => {
    const found = match(request)
    if (found.kind !== 'route') {
      return respond(request, nowhere, toAnswer(found))
    }
    if (inFlight >= options.requestsInFlightMax) {
      return respond(request, found, fail(overload(options), request.id))
    }
    let answer: Answer | Promise<Answer>
    try {
      answer = found.route.run(request, found)
    } catch (error) {
      answer = fail(error, request.id)
    }
    if (!(answer instanceof Promise)) return respond(request, found, answer)
    inFlight++
    const timely = found.route.isStreamed ? answer : within(answer, options.answerMsMax)
    return timely.then(
      (settled) => {
        inFlight--
        return respond(request, found, settled)
      },
      (error: unknown) => {
        inFlight--
        return respond(request, found, fail(error, request.id))
      },
    )
  }
  const refuse: Refuse = (status, request) => respond(request, nowhere, { kind: 'bare', status })
  const isStreamed: IsStreamed = (request) => {
    const found = match(request)
    return found.kind === 'route' && found.route.isStreamed === true
  }
  const handling = { handle, refuse, isStreamed }
  const { tracer } = options
  return tracer === undefined ? handling : traceRequests(handling, { tracer, match })
}

type Begun = Pick<GatewayRequest, 'id' | 'startedAt'>

interface Reached {
  readonly route: Pick<Route, 'name' | 'keepsCode' | 'hidesDetail'>
  readonly version: string
}

const nowhere: Reached = { route: { name: 'none' }, version: '' }

const none: GatewayResponse['headers'] = []

function toAnswer(found: { kind: 'unknownPath' } | { kind: 'wrongMethod'; allow: string }): Answer {
  if (found.kind === 'unknownPath') return { kind: 'bare', status: 404 }
  return { kind: 'bare', status: 405, headers: [['Allow', found.allow]] }
}

function toResponse(
  { status, body, stream, headers }: Rendered,
  notices: GatewayResponse['headers'],
  id: string,
): GatewayResponse {
  const own = notices.length === 0 ? headers : [...headers, ...notices]
  return { status, body, ...(stream && { stream }), id, headers: own }
}

function overload({ requestsInFlightMax }: HandleOptions): Fault {
  return new Fault('OVERLOAD', `${requestsInFlightMax} requests are in flight`)
}

/** The answer, or a fault after the time-out; a later answer is dropped. */
function within(answer: Promise<Answer>, answerMsMax: number): Promise<Answer> {
  return withDeadline(answer, answerMsMax, () => {
    const drop = (late: Answer) => late.kind === 'download' && late.stream.destroy()
    answer.then(drop, () => undefined)
    throw new Fault('OVERLOAD', `no answer within ${answerMsMax} ms`)
  })
}

/**
 * Header fields that announce the end of a version: `Deprecation` (RFC 9745, seconds since 1970) and
 * `Sunset` (RFC 8594, an HTTP date). The profile requires at least 90 days between the two.
 */
export function versionHeaders(
  versions: readonly GatewayVersion[],
): ReadonlyMap<string, GatewayResponse['headers']> {
  return new Map(
    versions.map(({ name, deprecatedOn, sunsetOn }) => [
      name,
      [
        ...(deprecatedOn ? [['Deprecation', `@${Date.parse(deprecatedOn) / 1_000}`] as const] : []),
        ...(sunsetOn ? [['Sunset', new Date(sunsetOn).toUTCString()] as const] : []),
      ],
    ]),
  )
}

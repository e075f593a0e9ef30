import type { Answer } from './answer.js'
import type { GatewayRequest } from './request.js'

/** Answers the requests of a route; `rest` has the segments that a `*` of its path matched, in order. */
export type RouteHandler = (request: GatewayRequest, at: MatchedPath) => Answer | Promise<Answer>

export interface MatchedPath {
  /** Joined by `/`. */
  readonly rest: string
  /** The requested version; empty for a path without one. */
  readonly version: string
}

export interface Route {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Path after the version; a segment `*` matches any that is not empty. */
  readonly path: string
  /** Whether its path has no version in front, as another standard fixes it. */
  readonly isFixed?: boolean
  /** bearer: served to clients with a token. mutual: only to clients with a certificate. */
  readonly access: 'bearer' | 'mutual'
  /** Whether refusals always include their code, regardless of the profile's error style. */
  readonly keepsCode?: boolean
  /** Whether invalid requests are answered without a body in the error style `status` (decision 2). */
  readonly hidesDetail?: boolean
  /** Whether its body is streamed, without a time limit. */
  readonly isStreamed?: boolean
  readonly run: RouteHandler
}

export type Match =
  | {
      readonly kind: 'route'
      readonly route: Route
      readonly rest: string
      readonly version: string
    }
  | { readonly kind: 'unknownPath' }
  | { readonly kind: 'wrongMethod'; readonly allow: string }

/**
 * Finds the route of a request in constant time. A path of the other listener is unknown, so that no
 * client can probe what is served elsewhere.
 */
export function createMatch(
  routes: readonly Route[],
  versions: readonly string[],
): (request: Pick<GatewayRequest, 'method' | 'path' | 'isMutual'>) => Match {
  const exact = new Map<string, Map<string, Match>>()
  const open = new Map<number, Open[]>()
  const add = (route: Route, version: string, path: string) => {
    const methods = exact.get(path) ?? new Map<string, Match>()
    methods.set(route.method, { kind: 'route', route, rest: '', version })
    if (!exact.has(path) && path.includes('*')) {
      const segments = path.split('/')
      open.set(segments.length, [...(open.get(segments.length) ?? []), { segments, methods }])
    }
    exact.set(path, methods)
  }
  for (const route of routes) {
    if (route.isFixed) add(route, '', route.path)
    else for (const version of versions) add(route, version, `/${version}${route.path}`)
  }
  const find = (path: string): { methods: Map<string, Match>; rest: string } | undefined => {
    const methods = exact.get(path)
    if (methods !== undefined && !path.includes('*')) return { methods, rest: '' }
    const parts = path.split('/', partsMax)
    const found = open.get(parts.length)?.find(({ segments }) => fits(segments, parts))
    if (found === undefined) return undefined
    const rest = parts.filter((_, at) => found.segments[at] === '*')
    return { methods: found.methods, rest: rest.join('/') }
  }
  return (request) => {
    const found = find(request.path)
    if (found === undefined) return { kind: 'unknownPath' }
    const match = found.methods.get(request.method)
    const [some] = found.methods.values()
    const shown = match ?? some
    if (shown?.kind !== 'route') return { kind: 'unknownPath' }
    if (shown.route.access === 'mutual' && !request.isMutual) return { kind: 'unknownPath' }
    if (match === undefined)
      return { kind: 'wrongMethod', allow: [...found.methods.keys()].join(', ') }
    return found.rest === '' || match.kind !== 'route' ? match : { ...match, rest: found.rest }
  }
}

/** A path with segments that match any. */
interface Open {
  readonly segments: readonly string[]
  readonly methods: Map<string, Match>
}

/** More segments than any route has. */
const partsMax = 20

const fits = (segments: readonly string[], parts: readonly string[]) =>
  segments.every((one, at) => (one === '*' ? parts[at] !== '' : one === parts[at]))

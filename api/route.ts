import type { Answer } from './answer.js'
import type { GatewayRequest } from './request.js'

/** Answers the requests of a route; `rest` is the segment matched by a `*` at the path's end. */
export type RouteHandler = (request: GatewayRequest, at: MatchedPath) => Answer | Promise<Answer>

export interface MatchedPath {
  readonly rest: string
  /** The requested version. */
  readonly version: string
}

export interface Route {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Path after the version; a `*` at its end matches one more segment. */
  readonly path: string
  /** bearer: served to clients with a token. mutual: only to clients with a certificate. */
  readonly access: 'bearer' | 'mutual'
  /** Whether refusals always include their code, regardless of the profile's error style. */
  readonly keepsCode?: boolean
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
  for (const version of versions) {
    for (const route of routes) {
      const path = `/${version}${route.path}`
      const methods = exact.get(path) ?? new Map<string, Match>()
      methods.set(route.method, { kind: 'route', route, rest: '', version })
      exact.set(path, methods)
    }
  }
  const find = (path: string): { methods: Map<string, Match>; rest: string } | undefined => {
    const methods = exact.get(path)
    if (methods !== undefined && !path.endsWith('*')) return { methods, rest: '' }
    const cut = path.lastIndexOf('/') + 1
    const open = cut < path.length ? exact.get(`${path.slice(0, cut)}*`) : undefined
    return open && { methods: open, rest: path.slice(cut) }
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

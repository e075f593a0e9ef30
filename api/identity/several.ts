import type { ProviderSettings } from '../../schemas/settings/gateway-identity.js'
import type { Identified, Identity, IdentityOptions } from './identity.js'
import { isCanonical, readJwt } from './jwt.js'
import { createTokenCache } from './token-cache.js'

type Kind = ProviderSettings['kind']

export interface Provider {
  readonly kind: Kind
  /** Whose tokens or responses it takes; none are named where tokens are introspected. */
  readonly issuers: readonly string[]
  readonly identity: Identity
}

/**
 * Several identity providers as one. The form of a token selects them: a response in XML is for SAML,
 * a JWT for OpenID providers, by its issuer. What none of those knows is introspected, so that a
 * token is never sent to a provider for which it is not meant. Who accepted a token is asked first
 * when it comes again, and whom a response names: refusing it would cost the others their budgets.
 */
export function combineIdentities(
  providers: readonly Provider[],
  { tokensCachedMax }: Pick<IdentityOptions, 'tokensCachedMax'>,
): Identity {
  const accepted = createTokenCache<Identity>(tokensCachedMax)
  const of = (kind: Kind) => providers.filter((one) => one.kind === kind)
  const opaque = of('introspection')
  const jwts = [...opaque, ...of('oidc')]
  const saml = of('saml')
  const askedFor = (token: string): readonly Provider[] => {
    const jwt = readJwt(token)
    if (jwt !== undefined) return namedFirst(jwts, jwt.claims()?.['iss'])
    const text = isCanonical(token) ? Buffer.from(token, 'base64url').toString() : ''
    return /^\s*</.test(text) ? namedFirst(saml, readIssuer(text)) : opaque
  }
  const identities = providers.map(({ identity }) => identity)
  return {
    identify: (token) => {
      const known = accepted.get(token)
      if (known !== undefined) return known.identify(token)
      return identifyBy(askedFor(token), token, (identity) => accepted.set(token, identity))
    },
    ready: async () => {
      await Promise.all(identities.map((one) => one.ready()))
    },
    figures: () => {
      const all = identities.map((one) => one.figures())
      const sum = (name: 'hits' | 'misses') => all.reduce((n, { cache }) => n + cache[name], 0)
      const cache = { hits: sum('hits'), misses: sum('misses') }
      return { cache, keys: all.flatMap(({ keys }) => keys) }
    },
    close: async () => {
      await Promise.all(identities.map((one) => one.close()))
    },
  }
}

/** The provider of an issuer before the others. */
function namedFirst(providers: readonly Provider[], issuer: unknown): readonly Provider[] {
  const isNamed = ({ issuers }: Provider) => issuers.some((one) => one === issuer)
  return [...providers.filter(isNamed), ...providers.filter((one) => !isNamed(one))]
}

/** The issuer that an XML text seems to name. It only says who is asked first; nothing is believed. */
function readIssuer(text: string): string | undefined {
  return /<(?:[\w.-]+:)?Issuer\b[^<>]*>([^<]*)</.exec(text)?.[1]?.replaceAll('&amp;', '&')
}

/** A token of another issuer is for the next provider. */
function identifyBy(
  [first, ...others]: readonly Provider[],
  token: string,
  onAccepted: (identity: Identity) => void,
): Identified | Promise<Identified> {
  if (first === undefined) return malformed
  const pass = (identified: Identified): Identified | Promise<Identified> => {
    const isForeign = identified.kind === 'refused' && identified.reason === 'issuer'
    if (isForeign && others.length > 0) return identifyBy(others, token, onAccepted)
    if (identified.kind === 'customer') onAccepted(first.identity)
    return identified
  }
  const identified = first.identity.identify(token)
  return identified instanceof Promise ? identified.then(pass) : pass(identified)
}

const malformed: Identified = { kind: 'refused', reason: 'malformed token' }

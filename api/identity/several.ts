import type { ProviderSettings } from '../../schemas/settings/gateway-identity.js'
import type { Identified, Identity, IdentityOptions } from './identity.js'
import { isCanonical, readJwt } from './jwt.js'
import { createTokenCache } from './token-cache.js'

type Kind = ProviderSettings['kind']

export interface Provider {
  readonly kind: Kind
  /** Of a SAML provider. */
  readonly issuer: string | undefined
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
  const of = (kind: Kind) =>
    providers.filter((one) => one.kind === kind).map(({ identity }) => identity)
  const opaque = of('introspection')
  const jwt = [...of('oidc'), ...opaque]
  const saml = providers.filter(({ kind }) => kind === 'saml')
  const askedFor = (token: string): readonly Identity[] => {
    if (readJwt(token) !== undefined) return jwt
    const text = isCanonical(token) ? Buffer.from(token, 'base64url').toString() : ''
    if (!/^\s*</.test(text)) return opaque
    const named = readIssuer(text)
    const rank = ({ issuer }: Provider) => (issuer === named ? 0 : 1)
    return saml.toSorted((a, b) => rank(a) - rank(b)).map(({ identity }) => identity)
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

/** The issuer that an XML text seems to name. It only says who is asked first; nothing is believed. */
function readIssuer(text: string): string | undefined {
  return /<(?:[\w.-]+:)?Issuer\b[^<>]*>([^<]*)</.exec(text)?.[1]?.replaceAll('&amp;', '&')
}

/** A token of another issuer is for the next provider. */
function identifyBy(
  [first, ...others]: readonly Identity[],
  token: string,
  onAccepted: (identity: Identity) => void,
): Identified | Promise<Identified> {
  if (first === undefined) return malformed
  const pass = (identified: Identified): Identified | Promise<Identified> => {
    const isForeign = identified.kind === 'refused' && identified.reason === 'issuer'
    if (isForeign && others.length > 0) return identifyBy(others, token, onAccepted)
    if (identified.kind === 'customer') onAccepted(first)
    return identified
  }
  const identified = first.identify(token)
  return identified instanceof Promise ? identified.then(pass) : pass(identified)
}

const malformed: Identified = { kind: 'refused', reason: 'malformed token' }

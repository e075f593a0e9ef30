import { introspectionName } from '../../pipeline/ledger/systems.js'
import { Fault } from '../../schemas/fault.js'
import { identifierSchema } from '../../schemas/gateway/customer.js'
import { parseObject } from '../../schemas/json.js'
import type { IntrospectionSettings } from '../../schemas/settings/gateway-identity.js'
import { createHttpClient } from '../http-client.js'
import { createSingleFlight } from '../single-flight.js'
import type { Identified, Identity, IdentityOptions } from './identity.js'
import { claimAt, findGrantProblem, grantOf, refuseUnnamed } from './jwt.js'
import { describeExpiry, refused } from './refusal.js'
import { createTokenCache } from './token-cache.js'

export interface IntrospectionOptions extends Omit<IdentityOptions, 'onFailure'> {
  readonly settings: IntrospectionSettings
  readonly clientSecret: string
}

interface Kept {
  readonly identified: Identified
  readonly until: number
}

const answerBytesMax = 64 * 1024

/** Refused tokens, remembered apart, so that any number of them displaces no accepted one. */
const refusedMax = 10_000
const refusedMs = 5_000

/**
 * Judges opaque tokens by asking their provider (RFC 7662). An active token is remembered for
 * `cacheSeconds`, but not after it expires; a refused one for some seconds. Concurrent requests with
 * one token share one question. A revoked token is reported as inactive, and counts as a
 * failed attempt only if the provider also names its customer.
 */
export function createIntrospection(options: IntrospectionOptions): Identity {
  const { settings, now } = options
  const caller = createHttpClient({
    fault: 'IDENTITY_UNREACHABLE',
    name: 'the introspection endpoint',
    timeoutMs: settings.timeoutMs,
    caFile: settings.caFile,
    connectionsMax: 64,
    answerBytesMax,
  })
  const system = introspectionName(settings)
  const ask = async (token: string, requests: number) => {
    try {
      const claims = await introspect({ ...options, send: caller.send }, token)
      options.report(system, undefined)
      return claims
    } catch (error) {
      if (error instanceof Fault) options.report(system, error, requests)
      throw error
    }
  }
  const cache = createTokenCache<Kept>(settings.cacheSeconds > 0 ? options.tokensCachedMax : 0)
  const refusals = createTokenCache<Kept>(refusedMax)
  const share = createSingleFlight<Identified>()
  const identify = async (token: string): Promise<Identified> => {
    const claims = await ask(token, 1)
    const identified = judge(claims, token, options)
    if (identified.kind === 'customer') {
      const lives = typeof claims['exp'] === 'number' ? claims['exp'] * 1_000 : Infinity
      const until = Math.min(lives, now() + settings.cacheSeconds * 1_000)
      cache.set(token, { identified, until })
    } else {
      cache.delete(token)
      refusals.set(token, { identified, until: now() + refusedMs })
    }
    return identified
  }
  return {
    identify: (token) => {
      const kept = cache.get(token) ?? refusals.get(token)
      const isKept = kept !== undefined && kept.until > now()
      return isKept ? kept.identified : share(token, () => identify(token))
    },
    ready: async () => void (await ask('ready', 0)),
    figures: () => ({ cache: cache.counts(), keys: [] }),
    close: async () => caller.close(),
  }
}

type Claims = Readonly<Record<string, unknown>>
type AskOptions = IntrospectionOptions & Pick<ReturnType<typeof createHttpClient>, 'send'>

async function introspect(options: AskOptions, token: string): Promise<Claims> {
  const { settings, clientSecret, send } = options
  const account = `${encodeURIComponent(settings.clientId)}:${encodeURIComponent(clientSecret)}`
  const { status, text } = await send({
    method: 'POST',
    isIdempotent: true,
    url: settings.url,
    type: 'application/x-www-form-urlencoded',
    headers: { Authorization: `Basic ${Buffer.from(account).toString('base64')}` },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  })
  const claims = status === 200 ? parseObject(text) : undefined
  if (typeof claims?.['active'] === 'boolean') return claims
  const remedy = 'check url, clientId and clientSecret of identity'
  throw new Fault('IDENTITY_UNREACHABLE', `${settings.url} returned status ${status}: ${remedy}`)
}

function judge(claims: Claims, token: string, options: IntrospectionOptions): Identified {
  const { settings, pseudonymize, now } = options
  const named = identifierSchema.safeParse(claimAt(claims, settings.claim))
  const known = named.success
    ? { clientId: named.data, pseudonym: pseudonymize(named.data), token }
    : undefined
  if (claims['active'] !== true) {
    if (known === undefined) return refused('inactive')
    return { kind: 'counted', ...known, reason: 'revoked', grant: grantOf(claims) }
  }
  if (typeof claims['exp'] === 'number' && claims['exp'] * 1_000 <= now()) {
    return refused('expired', describeExpiry(claims['exp'] * 1_000, now()))
  }
  if (known === undefined) return refuseUnnamed(claims, settings)
  const problem = findGrantProblem(claims, settings)
  if (problem !== undefined) return problem
  const { clientId, pseudonym } = known
  return { kind: 'customer', clientId, pseudonym, grant: grantOf(claims) }
}

import { Fault } from '../../schemas/fault.js'
import { type HttpClient, parseObject } from '../http-client.js'
import { fits, readKeys, type TrustedKey } from './key.js'

export interface KeySetOptions {
  readonly issuer: string
  /** Where the keys are; without it discovery tells. */
  readonly jwksUri: string | undefined
  readonly caller: HttpClient
  readonly keySeconds: number
  readonly staleSeconds: number
  readonly unknownKeySeconds: number
  readonly now: () => number
  /** Hears of keys that could not be fetched. */
  readonly onFailure: (fault: Fault) => void
}

export interface KeySet {
  /**
   * The key for a token's header; undefined where the provider has none such. Throws
   * `IDENTITY_UNREACHABLE` where that cannot be told: no keys, or none fresh enough.
   */
  find(
    algorithm: string,
    kid: string | undefined,
  ): TrustedKey | undefined | Promise<TrustedKey | undefined>
  /** Whether a key is still one of the provider's. */
  has(key: TrustedKey): boolean
  ready(): Promise<void>
  /** When the keys were last fetched, milliseconds since 1970; 0 where they never were. */
  fetchedAt(): number
  close(): void
}

const backoffMsMax = 60_000
const unknownKidsMax = 1_000

interface State {
  keys: ReadonlyMap<string, TrustedKey>
  goodAt: number
  triedAt: number
  failures: number
}

/**
 * The keys of one issuer: fetched in the background, kept for a bounded time while the provider is
 * away, fetched once more for a key id that is not known, and not again for ids that stay unknown.
 */
export function createKeySet(options: KeySetOptions): KeySet {
  const { now, staleSeconds, unknownKeySeconds, keySeconds } = options
  const never = Number.NEGATIVE_INFINITY
  const state: State = { keys: new Map(), goodAt: never, triedAt: never, failures: 0 }
  const unknownKids = new Map<string, number>()
  let fetching: Promise<void> | undefined

  const refresh = (): Promise<void> => {
    fetching ??= fetchKeys(options)
      .then(
        (keys) => {
          state.keys = new Map(keys.map((key) => [key.id, key]))
          state.goodAt = now()
          state.failures = 0
        },
        (error: unknown) => {
          state.failures++
          if (!(error instanceof Fault)) throw error
          options.onFailure(error)
        },
      )
      .finally(() => {
        state.triedAt = now()
        fetching = undefined
      })
    return fetching
  }
  const isUsable = () => state.keys.size > 0 && now() - state.goodAt <= staleSeconds * 1_000
  const mayTry = () => {
    const waitMs = state.failures === 0 ? 0 : Math.min(500 * 2 ** state.failures, backoffMsMax)
    return now() - state.triedAt >= waitMs
  }
  const require = async () => {
    if (!isUsable() && (fetching !== undefined || mayTry())) await refresh()
    if (!isUsable()) throw unreachable(options, state)
  }
  const isKnownUnknown = (kid: string) => {
    const since = unknownKids.get(kid)
    return since !== undefined && now() - since < unknownKeySeconds * 1_000
  }
  const findNew = async (algorithm: string, kid: string | undefined) => {
    await require()
    const found = pick(state.keys, algorithm, kid)
    if (found !== undefined || kid === undefined || isKnownUnknown(kid)) return found
    const isFresh = state.failures === 0 && now() - state.triedAt < unknownKeySeconds * 1_000
    if (fetching === undefined && isFresh) return undefined
    if (fetching !== undefined || mayTry()) await refresh()
    const fetched = pick(state.keys, algorithm, kid)
    if (fetched !== undefined) return fetched
    if (state.failures > 0) throw unreachable(options, state)
    if (unknownKids.size >= unknownKidsMax) unknownKids.clear()
    unknownKids.set(kid, now())
    return undefined
  }
  const background = setInterval(() => {
    const isDue = state.failures > 0 || now() - state.goodAt >= keySeconds * 1_000
    if (isDue && fetching === undefined && mayTry()) void refresh()
  }, 1_000)
  background.unref()
  return {
    find: (algorithm, kid) => {
      const found = isUsable() ? pick(state.keys, algorithm, kid) : undefined
      return found ?? findNew(algorithm, kid)
    },
    has: (key) => state.keys.has(key.id) && isUsable(),
    ready: require,
    fetchedAt: () => Math.max(0, state.goodAt),
    close: () => clearInterval(background),
  }
}

function pick(
  keys: ReadonlyMap<string, TrustedKey>,
  algorithm: string,
  kid: string | undefined,
): TrustedKey | undefined {
  let only: TrustedKey | undefined
  for (const key of keys.values()) {
    if (!fits(key, algorithm)) continue
    if (kid !== undefined && key.kid === kid) return key
    if (kid !== undefined) continue
    if (only !== undefined) return undefined
    only = key
  }
  return only
}

function unreachable({ issuer }: KeySetOptions, state: State): Fault {
  const since = Number.isFinite(state.goodAt) ? 'no fresh keys' : 'no keys yet'
  return new Fault(
    'IDENTITY_UNREACHABLE',
    `${since} of ${issuer}, ${state.failures} attempts failed`,
  )
}

async function fetchKeys(options: KeySetOptions): Promise<readonly TrustedKey[]> {
  const uri = options.jwksUri ?? (await discover(options))
  const keys = readKeys(await getObject(options, uri))
  if (keys.length > 0) return keys
  throw new Fault('IDENTITY_UNREACHABLE', `${uri} holds no key that can be used`)
}

/** OpenID Connect Discovery 1.0, section 4: the document must name the issuer it was asked of. */
async function discover(options: KeySetOptions): Promise<string> {
  const { issuer } = options
  const uri = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = await getObject(options, uri)
  if (document['issuer'] !== issuer) {
    throw new Fault('IDENTITY_UNREACHABLE', `${uri} speaks for another issuer than ${issuer}`)
  }
  const jwksUri = document['jwks_uri']
  if (typeof jwksUri === 'string' && isTrustworthy(jwksUri, issuer)) return jwksUri
  throw new Fault('IDENTITY_UNREACHABLE', `${uri} names no jwks_uri over https`)
}

/** Over https, or as plain as the issuer itself, which is so on loopback only. */
function isTrustworthy(uri: string, issuer: string): boolean {
  if (!URL.canParse(uri)) return false
  const { protocol, hostname } = new URL(uri)
  return protocol === 'https:' || (protocol === 'http:' && hostname === new URL(issuer).hostname)
}

async function getObject(options: KeySetOptions, url: string) {
  const { status, text } = await options.caller.send({ method: 'GET', url })
  if (status !== 200) throw new Fault('IDENTITY_UNREACHABLE', `${url} answered ${status}`)
  const value = parseObject(text)
  if (value === undefined) throw new Fault('IDENTITY_UNREACHABLE', `${url} is no JSON object`)
  return value
}

import type { ReportSystem } from '../../pipeline/ledger/systems.js'
import { Fault } from '../../schemas/fault.js'
import { parseObject } from '../../schemas/json.js'
import type { HttpClient } from '../http-client.js'
import { readKeys, type TrustedKey } from './jose.js'

export interface KeySetOptions {
  readonly issuer: string
  /** Where the keys are; without it, discovery finds them. */
  readonly jwksUri: string | undefined
  /** The signature algorithms that keys may verify. */
  readonly algorithms: readonly string[]
  readonly caller: HttpClient
  readonly keySeconds: number
  readonly staleSeconds: number
  readonly unknownKeySeconds: number
  readonly now: () => number
  /** Called when keys cannot be fetched. */
  readonly onFailure: (fault: Fault) => void
  readonly report: ReportSystem
}

export interface KeySet {
  /** The key of an algorithm and key id if it has been fetched; never fetches. */
  known(algorithm: string, kid: string | undefined): TrustedKey | undefined
  /**
   * The key for a token's header; undefined if the provider has no such key. Throws
   * `IDENTITY_UNREACHABLE` while that is not known: no keys, or only keys that are too old.
   */
  find(
    algorithm: string,
    kid: string | undefined,
  ): TrustedKey | undefined | Promise<TrustedKey | undefined>
  /** Whether the provider still has a key. */
  has(key: TrustedKey): boolean
  ready(): Promise<void>
  /** When the keys were last fetched, milliseconds since 1970; 0 if they never were. */
  fetchedAt(): number
  close(): void
}

const backoffMsMax = 60_000
const unknownKidsMax = 1_000

interface State {
  keys: readonly TrustedKey[]
  goodAt: number
  triedAt: number
  failures: number
  /** Of the last attempt, if it failed. */
  fault?: Fault
}

/**
 * The keys of one issuer: fetched in the background, and kept for a limited time while the provider
 * is unreachable. An unknown key id causes one fetch; an id that stays unknown causes no more.
 */
export function createKeySet(options: KeySetOptions): KeySet {
  const { now, staleSeconds, unknownKeySeconds, keySeconds } = options
  const system = `identity ${options.issuer}` as const
  const never = Number.NEGATIVE_INFINITY
  const state: State = { keys: [], goodAt: never, triedAt: never, failures: 0 }
  const unknownKids = new Map<string, number>()
  let fetching: Promise<void> | undefined

  const refresh = (): Promise<void> => {
    fetching ??= fetchKeys(options)
      .then(
        (keys) => {
          state.keys = keys
          state.goodAt = now()
          state.failures = 0
          options.report(system, undefined)
        },
        (error: unknown) => {
          state.failures++
          if (!(error instanceof Fault)) throw error
          state.fault = error
          options.onFailure(error)
          // With known keys, no request fails yet.
          options.report(system, error, 0)
        },
      )
      .finally(() => {
        state.triedAt = now()
        fetching = undefined
      })
    return fetching
  }
  const isUsable = () => state.keys.length > 0 && now() - state.goodAt <= staleSeconds * 1_000
  /** Whatever way the clock moved: if it was set back, nothing waits until it shows the old time again. */
  const msSince = (at: number) => Math.abs(now() - at)
  const mayTry = () => {
    const waitMs = state.failures === 0 ? 0 : Math.min(500 * 2 ** state.failures, backoffMsMax)
    return msSince(state.triedAt) >= waitMs
  }
  const require = async () => {
    if (!isUsable() && (fetching !== undefined || mayTry())) await refresh()
    if (!isUsable()) throw unreachable(options, state)
  }
  const isKnownUnknown = (kid: string) => {
    const since = unknownKids.get(kid)
    return since !== undefined && msSince(since) < unknownKeySeconds * 1_000
  }
  const findNew = async (algorithm: string, kid: string | undefined) => {
    await require()
    const found = pick(state.keys, algorithm, kid)
    if (found !== undefined || kid === undefined || isKnownUnknown(kid)) return found
    const isFresh = state.failures === 0 && msSince(state.triedAt) < unknownKeySeconds * 1_000
    if (fetching === undefined && isFresh) return undefined
    if (fetching !== undefined || mayTry()) await refresh()
    const fetched = pick(state.keys, algorithm, kid)
    if (fetched !== undefined) return fetched
    if (state.failures > 0) throw unreachable(options, state)
    if (unknownKids.size >= unknownKidsMax) unknownKids.clear()
    unknownKids.set(kid, now())
    return undefined
  }
  const count = (error: unknown): never => {
    if (error instanceof Fault) options.report(system, error)
    throw error
  }
  const background = setInterval(() => {
    const isDue = state.failures > 0 || msSince(state.goodAt) >= keySeconds * 1_000
    if (isDue && fetching === undefined && mayTry()) void refresh()
  }, 1_000)
  background.unref()
  const known: KeySet['known'] = (algorithm, kid) =>
    isUsable() ? pick(state.keys, algorithm, kid) : undefined
  return {
    known,
    find: (algorithm, kid) => known(algorithm, kid) ?? findNew(algorithm, kid).catch(count),
    has: ({ thumbprint }) => isUsable() && state.keys.some((key) => key.thumbprint === thumbprint),
    ready: require,
    fetchedAt: () => Math.max(0, state.goodAt),
    close: () => clearInterval(background),
  }
}

/** Without a key id, only a key that is the only one for its algorithm. */
function pick(
  keys: readonly TrustedKey[],
  algorithm: string,
  kid: string | undefined,
): TrustedKey | undefined {
  if (kid !== undefined) return keys.find((key) => key.kid === kid && key.algorithm === algorithm)
  const [first, ...others] = keys.filter((key) => key.algorithm === algorithm)
  return others.every((key) => key.thumbprint === first?.thumbprint) ? first : undefined
}

function unreachable({ issuer }: KeySetOptions, state: State): Fault {
  const what = Number.isFinite(state.goodAt) ? 'keys too old' : 'no keys yet'
  const { failures, fault: cause } = state
  const attempts = `${failures} failed ${failures === 1 ? 'attempt' : 'attempts'}`
  const why = failures === 0 || cause === undefined ? '' : `: ${cause.detail}`
  return new Fault('IDENTITY_UNREACHABLE', `${issuer}: ${what}, ${attempts}${why}`, { cause })
}

async function fetchKeys(options: KeySetOptions): Promise<readonly TrustedKey[]> {
  const uri = options.jwksUri ?? (await discover(options))
  const keys = await readKeys(await getObject(options, uri), options.algorithms)
  if (keys.length > 0) return keys
  throw new Fault('IDENTITY_UNREACHABLE', `${uri} contains no usable key`)
}

/** OpenID Connect Discovery 1.0, section 4.3: the document must declare the expected issuer. */
async function discover(options: KeySetOptions): Promise<string> {
  const { issuer } = options
  const uri = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = await getObject(options, uri)
  if (document['issuer'] !== issuer) {
    throw new Fault(
      'IDENTITY_UNREACHABLE',
      `issuer mismatch: expected ${issuer}, ${uri} declares ${document['issuer']}`,
    )
  }
  const jwksUri = document['jwks_uri']
  if (typeof jwksUri === 'string' && isTrustworthy(jwksUri, issuer)) return jwksUri
  throw new Fault('IDENTITY_UNREACHABLE', `${uri} does not contain a jwks_uri with https`)
}

/** https, or http on the host of the issuer, which the profile allows on loopback only. */
function isTrustworthy(uri: string, issuer: string): boolean {
  if (!URL.canParse(uri)) return false
  const { protocol, hostname } = new URL(uri)
  return protocol === 'https:' || (protocol === 'http:' && hostname === new URL(issuer).hostname)
}

async function getObject(options: KeySetOptions, url: string) {
  const { status, text } = await options.caller.send({ method: 'GET', url })
  if (status !== 200) throw new Fault('IDENTITY_UNREACHABLE', `${url} returned status ${status}`)
  const value = parseObject(text)
  if (value === undefined)
    throw new Fault('IDENTITY_UNREACHABLE', `${url} did not return a JSON object`)
  return value
}

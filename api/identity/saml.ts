import type { KeyObject } from 'node:crypto'
import { identifierSchema } from '../../schemas/gateway/customer.js'
import type { SamlSettings } from '../../schemas/settings/gateway-identity.js'
import { createBudget } from '../budget.js'
import { createFairQueue } from '../fair-queue.js'
import type { Identified, Identity, IdentityOptions } from './identity.js'
import { isCanonical } from './jwt.js'
import { describeMismatch, refused } from './refusal.js'
import { readAssertion } from './saml-assertion.js'
import { openResponse } from './saml-response.js'
import { createSigningKeys } from './signing-keys.js'
import { createTokenCache } from './token-cache.js'

export interface SamlOptions extends IdentityOptions {
  readonly settings: SamlSettings
  /** Milliseconds for the budget of refused responses; `performance.now()` by default. */
  readonly elapsed?: (() => number) | undefined
}

interface Kept {
  readonly identified: Identified
  readonly expiresAt: number
  readonly key: KeyObject
}

/** A refused response costs 1 to 8 ms, the first after a start 60; a fifth of the thread is for them. */
const refusedMs = { msPerSecond: 200, msEachMax: 20 }

/**
 * Judges SAML 2.0 responses, sent as the base64url of their XML (decision 6). The assertion must be
 * signed itself, and everything that is believed of it is read from the bytes that were signed. The
 * gateway asks for no assertions and sees one with each login and each customer call, so that it can
 * neither know the request that one answers nor take it once only: like any bearer token it is taken
 * until it expires.
 */
export function createSaml(options: SamlOptions): Identity {
  const { settings, now, onFailure } = options
  const keys = createSigningKeys({
    files: settings.certFiles,
    everyMs: settings.certificateSeconds * 1_000,
    onFailure,
  })
  const cache = createTokenCache<Kept>(options.tokensCachedMax)
  // A response costs as much as 20 JWTs, so others have their turn after each.
  const turns = createFairQueue(1)
  const spend = createBudget({ ...refusedMs, now: options.elapsed })
  const judgeAndKeep = (token: string): Identified => {
    const judged = spend(() => judge(token, keys.current(), options), isRefused)
    if ('kind' in judged) return judged
    if (judged.identified.kind === 'customer') cache.set(token, judged)
    return judged.identified
  }
  return {
    identify: (token) => {
      const known = cache.get(token)
      const isTrusted = known !== undefined && keys.current().includes(known.key)
      if (isTrusted && known.expiresAt > now()) return known.identified
      if (known !== undefined) cache.delete(token)
      return turns()?.then(() => judgeAndKeep(token)) ?? judgeAndKeep(token)
    },
    ready: async () => undefined,
    figures: () => ({ cache: cache.counts(), keys: [] }),
    close: async () => keys.close(),
  }
}

/**
 * Judges in the order of the other drivers: the form, the signature, the times, whom it names, whether
 * it is meant for us. Last the signed status: only that is a failed attempt of the customer's.
 */
function judge(
  token: string,
  keys: readonly KeyObject[],
  { settings, pseudonymize, now }: SamlOptions,
): Kept | Identified {
  const text = decode(token)
  if (text === undefined) return refused('malformed token')
  const opened = openResponse(text, settings)
  if (opened.problem !== undefined) return refused(opened.problem, opened.detail)
  const proven = opened.prove(keys)
  if (proven === undefined) return refused('signature')
  const read = readAssertion(proven.element, {
    ...settings,
    now: now(),
    inResponseTo: opened.inResponseTo,
  })
  if (read.problem !== undefined) return refused(read.problem, read.detail)
  const named = identifierSchema.safeParse(read.claim)
  if (!named.success) return refused('no customer claim')
  const known = { clientId: named.data, pseudonym: pseudonymize(named.data) }
  const { expiresAt } = read
  if (!read.isMeant) {
    return refused('audience', describeMismatch(read.audience, settings.audience))
  }
  if (!opened.isSuccess) {
    // What is signed, not what was sent: around it anybody may write the same differently.
    const counted = { kind: 'counted', ...known, reason: 'status', token: proven.text } as const
    return { identified: counted, expiresAt, key: proven.key }
  }
  return { identified: { kind: 'customer', ...known }, expiresAt, key: proven.key }
}

function isRefused(judged: Kept | Identified): boolean {
  return 'kind' in judged && judged.kind === 'refused'
}

function decode(token: string): string | undefined {
  if (!isCanonical(token)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(token, 'base64url'))
  } catch {
    return undefined
  }
}

import type { CacheCounts } from './token-cache.js'

/** What a token proves. */
export type Identified =
  | { readonly kind: 'customer'; readonly clientId: string; readonly pseudonym: string }
  /** It proves nothing, and counts against nobody. */
  | { readonly kind: 'refused'; readonly reason: string }
  /**
   * Signed by the trusted provider, in its time, naming this customer, and refused all the same
   * (audience, scope, revoked): a failed attempt of this customer's.
   */
  | {
      readonly kind: 'counted'
      readonly clientId: string
      readonly pseudonym: string
      readonly reason: string
      readonly token: string
    }

/**
 * A driver for one kind of identity. Faults: `IDENTITY_UNREACHABLE` where it cannot tell, never a
 * refusal for that.
 */
export interface Identity {
  /** At once where the token is known, else later. */
  identify(token: string): Identified | Promise<Identified>
  /** Resolves when tokens can be judged; faults while they cannot. */
  ready(): Promise<void>
  figures(): IdentityFigures
  close(): Promise<void>
}

/** What a driver tells of itself to those who watch it. */
export interface IdentityFigures {
  readonly cache: CacheCounts
  /** When the keys of each issuer were last fetched, milliseconds since 1970; 0 for never. */
  readonly keys: readonly { readonly issuer: string; readonly fetchedAt: number }[]
}

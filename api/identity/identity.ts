import type { ReportSystem } from '../../pipeline/ledger/systems.js'
import type { Fault } from '../../schemas/fault.js'
import type { Pseudonymize } from '../access/pseudonym.js'
import type { CacheCounts } from './token-cache.js'

/** What a driver needs in addition to its settings. */
export interface IdentityOptions {
  readonly pseudonymize: Pseudonymize
  /** How many verified tokens are remembered. */
  readonly tokensCachedMax: number
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Called when keys cannot be fetched or read. */
  readonly onFailure: (fault: Fault) => void
  /** Called with the outcome of each call to a provider. */
  readonly report: ReportSystem
}

/** To which application a token was issued, and for which scopes (RFC 9068). */
export interface Grant {
  /** Its names in the claims of the token; several contradict each other. */
  readonly applications: readonly string[]
  readonly scopes: readonly string[]
}

/** What a token proves. */
export type Identified =
  | {
      readonly kind: 'customer'
      readonly clientId: string
      readonly pseudonym: string
      readonly grant?: Grant
    }
  /** Not valid, and not counted as a failed attempt of any customer. */
  | {
      readonly kind: 'refused'
      readonly reason: string
      /** For the operator's log, never for a client: what the token has and the profile wants. */
      readonly detail?: string
      /** Of a token that is valid in all but that it names no customer. */
      readonly grant?: Grant
    }
  /** Refused by the provider itself, which names this customer: the customer's failed attempt. */
  | {
      readonly kind: 'counted'
      readonly clientId: string
      readonly pseudonym: string
      readonly reason: string
      readonly token: string
      readonly grant?: Grant
    }

/**
 * A driver for one kind of identity. Throws `IDENTITY_UNREACHABLE` if the provider is needed and
 * unreachable: an outage never refuses a token.
 */
export interface Identity {
  /** Synchronous if the token is remembered. */
  identify(token: string): Identified | Promise<Identified>
  /** Resolves if tokens can be judged; throws a fault while they cannot. */
  ready(): Promise<void>
  figures(): IdentityFigures
  close(): Promise<void>
}

/** What a driver reports to metrics and pages. */
export interface IdentityFigures {
  readonly cache: CacheCounts
  /** When the keys of each issuer were last fetched, milliseconds since 1970; 0 if never. */
  readonly keys: readonly { readonly issuer: string; readonly fetchedAt: number }[]
}

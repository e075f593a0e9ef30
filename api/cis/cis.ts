import type { CustomerProblem } from '../../schemas/gateway/customer.js'

/** A customer of the CIS with mapped field names, not validated. */
export interface CisRecord {
  readonly record: Readonly<Record<string, unknown>>
  /** Whether the customer is locked in the CIS; undefined if it does not provide this. */
  readonly locked: boolean | undefined
  readonly attemptsRemaining: number | undefined
  /** Why one of the two cannot be read: no request of the customer is answered (decision 7). */
  readonly problems: readonly CustomerProblem[]
}

/**
 * A driver for one kind of customer information system. Returns undefined for an unknown customer.
 * Throws `CIS_UNREACHABLE` (time-out, network, refusal) or `CIS_ANSWER` (not a customer record).
 */
export interface Cis {
  fetch(clientId: string): Promise<CisRecord | undefined>
  close(): Promise<void>
}

/** A customer as the CIS has it, its fields renamed to ours and nothing judged yet. */
export interface CisRecord {
  readonly record: Readonly<Record<string, unknown>>
  /** Whether the CIS says that the customer is locked; undefined where it says nothing. */
  readonly locked: boolean | undefined
  readonly attemptsRemaining: number | undefined
}

/**
 * A driver for one kind of customer information system. Undefined for a customer that is not there.
 * Faults: `CIS_UNREACHABLE` (time, network, refusal), `CIS_ANSWER` (what came is no record).
 */
export interface Cis {
  fetch(clientId: string): Promise<CisRecord | undefined>
  close(): Promise<void>
}

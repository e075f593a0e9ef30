import type { Arrival, Entry } from '../ledger/ledger.js'

/** A file that a source shows, before anything is known of its content. */
export interface Listed extends Omit<Entry, 'force'> {
  /** Whether a sign of the sender (a done-file, a manifest) says that it is complete. */
  readonly announced: boolean
  /** Whether a done-file says that all rate files of its company and day are there. */
  readonly setAnnounced?: boolean
}

/** What became of a file, as far as its source is concerned. */
export interface Settlement {
  readonly outcome: 'published' | 'quarantined' | 'duplicate'
  readonly receipt: string
  /** Path of the rejects file in the outbox, where there is one. */
  readonly rejectsPath: string | undefined
}

/**
 * Where files come from. A driver names a file by what the sender called it; what is stored locally
 * is named by our own numbers.
 */
export interface Source {
  readonly name: string
  /** Whether a file that was settled goes on standing there: then it has not come again. */
  readonly keeps: boolean
  /** All files that could be taken, oldest first; unfinished names are left out. */
  list(): Promise<readonly Listed[]>
  /**
   * Brings a file onto this machine, durably, going on where an earlier attempt was cut off. Absent
   * where files lie here already. `SOURCE_CHANGED` if it is no longer what was listed.
   */
  fetch?(arrival: Arrival): Promise<void>
  /**
   * The bytes as they stand now, each piece good until the next is asked for; `SOURCE_CHANGED` if
   * they are no longer what was listed.
   */
  read(arrival: Arrival): AsyncIterable<Buffer>
  /**
   * Puts the file away, hands back receipt and rejects and tells the source that it has ended;
   * repeating it changes nothing, and a file that was replaced meanwhile is left alone.
   */
  settle(arrival: Arrival, settlement: Settlement): Promise<void>
  close(): Promise<void>
}

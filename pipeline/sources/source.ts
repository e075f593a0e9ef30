import type { Arrival, Entry } from '../stores/ledger.js'

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
  /** All files that could be taken, oldest first; unfinished names are left out. */
  list(): Promise<readonly Listed[]>
  /**
   * The bytes as they stand now, each piece good until the next is asked for; `SOURCE_CHANGED` if
   * they are no longer what was listed.
   */
  read(arrival: Arrival): AsyncIterable<Buffer>
  /** Puts the file away and hands back receipt and rejects; repeating it changes nothing. */
  settle(arrival: Arrival, settlement: Settlement): Promise<void>
}

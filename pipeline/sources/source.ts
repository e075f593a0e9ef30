import type { Arrival, FileEntry } from '../ledger/ledger.js'

/** A file that a source lists; its content is not known yet. */
export interface Listed extends Omit<FileEntry, 'force'> {
  /** Whether a done-file or a manifest of the sender marks it as complete. */
  readonly hasDoneFile: boolean
  /** Whether a done-file marks the rate files of its company and day as complete. */
  readonly hasSetDoneFile?: boolean
}

/** The outcome of a file, for its source. */
export interface Settlement {
  readonly outcome: 'published' | 'quarantined' | 'duplicate'
  readonly receipt: string
  /** Path of the rejects file in the outbox, where there is one. */
  readonly rejectsPath: string | undefined
}

/** Where files come from. The sender names files at the source; local names are our own numbers. */
export interface Source {
  readonly name: string
  /** Whether settled files stay at the source: listing one then is not a new arrival. */
  readonly keeps: boolean
  /** All files that can be loaded, oldest first, without temporary names. */
  list(): Promise<readonly Listed[]>
  /** What the latest listing had that is not a file, as a sentence; empty if nothing. */
  others?(): string
  /**
   * Copies a file to this machine durably and resumes an interrupted copy. Absent for local files.
   * Throws `SOURCE_CHANGED` if it is not the file that was listed.
   */
  fetch?(arrival: Arrival): Promise<void>
  /**
   * The bytes; each buffer is valid until the next is read. Throws `SOURCE_CHANGED` if the file is
   * not the one that was listed.
   */
  read(arrival: Arrival): AsyncIterable<Buffer>
  /**
   * Archives the file, returns receipt and rejects to the source and applies its action after load.
   * Idempotent; a file that was replaced meanwhile is not touched.
   */
  settle(arrival: Arrival, settlement: Settlement): Promise<void>
  /** Writes and removes a small file where receipts go. Throws a fault if one cannot be written. */
  tryWriting?(): Promise<void>
  close(): Promise<void>
}

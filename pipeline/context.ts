import type { Logger } from 'pino'
import type { Mdm } from '../schemas/gateway/history.js'
import type { Profile } from '../schemas/settings/profile.js'
import type { Zone } from '../schemas/time/zone.js'
import type { Ledger } from './ledger/ledger.js'
import type { Queues } from './queues/bullmq.js'
import type { Source } from './sources/source.js'
import type { Store } from './store/clickhouse.js'

/** Folders of one installation, absolute paths. */
export interface Folders {
  readonly inbox: string
  readonly outbox: string
  readonly landing: string
  readonly archive: string
  readonly quarantine: string
  /** Files that were made of the MDM's answers. */
  readonly backfill: string
  /** Files that were uploaded, and those that pushed rows were gathered into. */
  readonly uploads: string
  readonly pushed: string
}

/** All that the steps of the file line work with; built once, passed down. */
export interface PipelineContext {
  readonly profile: Profile
  readonly zone: Zone
  readonly folders: Folders
  /** The id of the data folder that the folders are in. */
  readonly machine: string
  readonly store: Store
  readonly ledger: Ledger
  readonly queues: Queues
  readonly sources: ReadonlyMap<string, Source>
  /**
   * The landing folder as the store sees it, where it can read it; otherwise chunks travel in the
   * body of the request.
   */
  readonly storeLanding: string | undefined
  /** Files are only checked: what the store lacks may be in force where they will be loaded. */
  readonly isTrial?: boolean
  /** Whom the history of meters is asked of; undefined where nobody is. */
  readonly mdm: Mdm | undefined
  readonly now: () => Date
  readonly log: Logger
  /** Reports a quarantined file or an unreachable source to the terminal, in one line. */
  readonly notify: (text: string) => void
}

import type { FeedName } from '../schemas/feed.js'
import type { Chunk, Measured, RowFormat } from '../schemas/manifest.js'
import type { PipelineContext } from './context.js'
import type { FileState, Notes } from './ledger/file-state.js'
import type { Arrival, ChunkReceipt } from './ledger/ledger.js'
import type { Counted } from './ledger/sums.js'
import type { Store } from './store/clickhouse.js'
import type { StagingTotals } from './usage/irregular-meters.js'

/** What a load needs to know of its file; the rest is in the landing. */
export interface LoadTask extends RowFormat {
  readonly arrival: number
  readonly feed: FeedName
  /** The id of the data folder that the chunk landed in. */
  readonly machine?: string | undefined
  readonly chunk: Chunk
}

/** What is known of a file when its header has been read. */
export interface Opened extends Pick<RowFormat, 'stated' | 'qualities' | 'times'> {
  readonly arrival: number
  readonly arrivedAt: Date
  readonly feed: FeedName
  /** The columns of its feed that it has. */
  readonly header: readonly string[]
  /** How many columns are behind those and ignored. */
  readonly extraColumns: number
  /** Its first bytes behind the header, as many as have come. */
  readonly head: () => Buffer
}

/** Receives one file, chunk by chunk. */
export interface Receiver {
  measure(bytes: Buffer): Measured
  /** Called when the first chunk is full. */
  rowFormat(): RowFormat
  /** Stores what the load of a chunk looks up; called before the load is queued. */
  prepare(): Promise<void>
}

/** What becomes of the rows of a file in the hour that the clock repeats (decision 15). */
export interface RepeatedHour {
  readonly rows: number
  /** Those whose hour nothing proves, the rejected ones included. */
  readonly ambiguous: number
  readonly rejected: Counted
}

/** The staged rows of a file when all its chunks are loaded. */
export interface StagedSums {
  readonly rows: number
  readonly quantity: string
  /** Of usage: the shape of its meters, the rows of the hour that the clock repeats, and the order of day and month. */
  readonly shapes?: StagingTotals
  readonly hour?: RepeatedHour
  readonly dates?: Notes
}

/** A file whose bytes, receipts and staging agree. */
export interface LoadedFile {
  readonly state: FileState
  readonly origin: Arrival | undefined
  readonly receipts: readonly ChunkReceipt[]
  readonly staged: StagedSums
  /** Restores its chunks in the landing where they are missing; called before rows are read again. */
  readonly reland: () => Promise<void>
}

/** What a kind of feed does in its own way, step by step; all else is the line's. */
export interface Kind {
  createStaging(store: Store, file: Pick<FileState, 'arrival' | 'feed'>): Promise<void>
  emptyStaging(store: Store, file: Pick<FileState, 'arrival' | 'feed'>): Promise<void>
  open(context: PipelineContext, file: Opened): Receiver
  /** Brings one landed chunk into staging and returns its receipt; repeating it changes nothing. */
  load(context: PipelineContext, task: LoadTask): Promise<ChunkReceipt>
  sumStaged(context: PipelineContext, state: FileState): Promise<StagedSums>
  /**
   * Decides what becomes of files that are published together, mostly of a single one; `ended` are
   * those of them of which it is decided already.
   */
  reconcile(
    context: PipelineContext,
    files: readonly LoadedFile[],
    ended: readonly FileState[],
  ): Promise<readonly FileState[]>
  /**
   * Brings the rows of files that are published together into the target. Readers see usage from then
   * on, that of a group in one step, and records when their file has a number of publication. Repeating
   * it changes nothing.
   */
  attach(context: PipelineContext, states: readonly FileState[]): Promise<void>
  /** Whether readers may have seen rows of a file, which is then never refused. */
  isVisible(store: Store, state: FileState): Promise<boolean>
  /**
   * Derives from published files, one or those of a group, what they say about meters. Repeating it
   * changes nothing.
   */
  learn(context: PipelineContext, states: readonly FileState[]): Promise<Learned>
  /** Queues what else is derived from published files, once they are settled; the sweep does it too. */
  derive(context: PipelineContext): Promise<void>
}

export interface Learned {
  /** A warning for some of the files, by arrival. */
  readonly warnings: ReadonlyMap<number, string>
  /** Whether tenancies were derived again, which may have asked for held reads. */
  readonly hasRenewed: boolean
}

import type { Commodity } from '../../schemas/feed.js'
import type { RowFormat } from '../../schemas/manifest.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { TimestampFormat } from '../../schemas/time/timestamp.js'
import type { Zone } from '../../schemas/time/zone.js'
import type { RejectCode } from '../../schemas/usage-row.js'

/** Why a record yields no reads: it becomes one rejected row. */
export interface RecordRefusal {
  readonly code: RejectCode
  /** The field that is wrong, as its format names it; empty for the whole record. */
  readonly column: string
  readonly detail: string
}

/** A record of a sender's file, mostly a line, and the rows of the plain layout that it becomes. */
export interface SentRecord {
  /** Physical line on which it starts, the first being 1. */
  readonly line: number
  /** Its text as sent, without line end. */
  readonly raw: string
  /** Plain rows, each with its line end; empty for a record without reads. */
  readonly rows: string
  /** How many those are. */
  readonly count: number
  /** Why its one row is only there to be rejected. */
  readonly refused?: RecordRefusal | undefined
}

/** What a file shows when it has been read. */
export interface Ending {
  /** Why the file is not complete. */
  readonly cut?: string | undefined
  /** Whether the last line has no line end, so that its last field may be cut. */
  readonly isUnended: boolean
  /** How many rows the last line became, where it may be more than one. */
  readonly lastRows?: number | undefined
  /**
   * The different dates as the file writes them, where their order of day and month must be proved; none
   * where its rows have no timestamps.
   */
  readonly dates?: Iterable<string> | undefined
  /** How all its timestamps are written, where that is a way of the plain layout. */
  readonly timestampFormat?: TimestampFormat | undefined
  /** What was left out, and why, for the receipt. */
  readonly warnings: readonly string[]
}

const warningsMax = 20

/** Kinds that are counted apart. */
const kindsMax = 1_000

/** Counts what is worth a note while a file is read, by kind. */
export interface Tally {
  count(what: string, number?: number): void
  /** For the receipt; `things` are what was counted. */
  warnings(things: 'intervals' | 'periods'): readonly string[]
}

/** `others` are what is counted together once there are too many kinds. */
export function createTally(others = 'of other kinds'): Tally {
  const counted = new Map<string, number>()
  return {
    count: (what, number = 1) => {
      const kept = counted.has(what) || counted.size < kindsMax ? what : others
      counted.set(kept, (counted.get(kept) ?? 0) + number)
    },
    warnings: (things) => {
      const all = [...counted].map(([what, count]) => `${things} ${what}: ${count}`)
      const more = all.length - warningsMax
      return more > 0 ? [...all.slice(0, warningsMax), `and ${more} other kinds of ${things}`] : all
    },
  }
}

/** Turns one file into rows of the plain layout. Reading the same bytes again gives the same rows. */
export interface Conversion {
  /** How the rows are to be read. */
  readonly rowFormat: Pick<RowFormat, 'stated' | 'qualities' | 'times'> & {
    readonly extraColumns: number
  }
  /** The records in the order of the file. Throws a fault where the file is not of the format. */
  records(input: AsyncIterable<Buffer>): AsyncGenerator<readonly SentRecord[]>
  /** Valid behind the last record. */
  ending(): Ending
}

/** What a format knows of a file and its profile. */
export interface BilledContext {
  readonly usage: Profile['usage']
  readonly zone: Zone
  /** A longer line is rejected unread. */
  readonly lineBytesMax: number
}

/** What a format of reads knows as well: a file has those of one commodity. */
export interface FormatContext extends BilledContext {
  readonly commodity: Commodity
}

/** Opens a file whose layout is not the plain one. */
export type Format<Settings, Context = FormatContext> = (
  settings: Settings,
  context: Context,
) => Conversion

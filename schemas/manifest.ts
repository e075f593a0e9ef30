import type { DateOrder, TimestampFormat } from './time/timestamp.js'

/** How the format of a file writes its times, where that is not as the profile's `usage` says. */
export interface FileTimes {
  readonly dateOrder?: DateOrder | undefined
  readonly clock?: 'wall' | 'standard' | undefined
  readonly stamp?: 'start' | 'end' | undefined
  /** The only length that its reads may have, seconds. */
  readonly length?: number | undefined
}

/** How the rows of a file are to be read, as its first bytes show. */
export interface RowFormat {
  /** Interval length of the file, seconds; 0 where its feed has no intervals. */
  readonly seconds: number
  /** The format that the timestamps of the file have; null where its first rows show none. */
  readonly format: TimestampFormat | null
  /** The last instant at which a read may start, epoch seconds; none where a feed has no reads. */
  readonly startsMax?: number | undefined
  /** The columns of the header, of a feed of which some may be left out. */
  readonly columns?: readonly string[] | undefined
  /** How many columns behind those of the feed are ignored. */
  readonly extraColumns?: number | undefined
  /** Whether the first column behind those of the feed states the length of each read, seconds. */
  readonly stated?: boolean | undefined
  /** Whether the column behind that states the quality of each read. */
  readonly qualities?: boolean | undefined
  readonly times?: FileTimes | undefined
}

/**
 * How a chunk can be read. `plain`: no quotes, every row ends in a plain decimal and no identifier
 * needs the fine print. `lines`: no quotes, a line is a row. `quoted`: every line is one row, its
 * quotes match and the engine reads it as RFC 4180 has it. `unsplittable`: some row goes over several lines
 * or is too long, some line is blank, or some row is read otherwise: row by row only.
 */
export const chunkFormats = ['plain', 'lines', 'quoted', 'unsplittable'] as const
export type ChunkFormat = (typeof chunkFormats)[number]

/** Where a chunk of a file lies and how it can be read: all that loading it takes. */
export interface Chunk {
  /** Number of the chunk in the file, from 0. */
  readonly chunk: number
  /** Physical line of its first row; the header is line 1. */
  readonly line: number
  readonly lines: number
  readonly rows: number
  readonly bytes: number
  /** Of its bytes: a chunk that was altered on disk is not loaded. */
  readonly crc32: number
  readonly format: ChunkFormat
  /** Whether some row ends in CR LF. */
  readonly crlf: boolean
  /** Whether some timestamp is known to lie in the hour that the clock repeats. */
  readonly repeats: boolean
  /** Physical line from which on rows may be of a line that was cut inside its last column (decision 20). */
  readonly cutLine?: number | undefined
}

/** A chunk in the landing as it was counted in the bytes on arrival. */
export interface LandedChunk extends Chunk {
  /** Sum of the column that the feed is proved by, where it reads as a decimal, in millionths. */
  readonly micros: string
}

export interface Manifest extends RowFormat {
  readonly chunks: readonly LandedChunk[]
  /** Whether the last row has its line end. */
  readonly ended: boolean
  /** The id of the data folder that its chunks landed in; none where it was not landed by itself. */
  readonly machine?: string | undefined
}

/** How the numbers in the last column of a file are written. */
export interface Decimals {
  /** Digits behind the point in every number; 0 where they differ, undefined where there is none. */
  readonly count: number | undefined
  /** Whether a number ends in a zero, the last row of the file left out. */
  readonly padded: boolean
}

/** What the bytes of a chunk show before it lands. */
export interface Measured
  extends Pick<LandedChunk, 'lines' | 'rows' | 'micros' | 'format' | 'crlf' | 'repeats'> {
  /** Rows whose quantity has more decimals than are kept. */
  readonly rounded: number
  readonly decimals: Decimals
}

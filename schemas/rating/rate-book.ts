import type { PlacedRow } from '../lint/finding.js'

/** A row of a rate file in force, with its file. */
export interface RateRow extends PlacedRow {
  readonly fileId: string
}

/** A row of `RateCodes`; one that the latest file lacks still prices the days that its rates cover. */
export interface CodeRow extends RateRow {
  readonly isRetired?: boolean
}

/** All that is known of a company's rates; the rows are those of the rate feeds. */
export interface RateBook {
  readonly codes: ReadonlyMap<string, CodeRow>
  /** Rows of each rate feed by rate code. */
  readonly rows: (feed: RateFeed, rateCode: string) => readonly RateRow[]
  /** The holidays of a rate code, days since 1970: its own and those of all. */
  readonly holidays: (rateCode: string) => ReadonlySet<number>
}

export type RateFeed = 'RateTou' | 'RateTiers' | 'RateFlat' | 'RateFixed'

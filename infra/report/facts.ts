/** A cause of variances: its bills, and its parts of their differences with and without signs. */
export interface CauseFact {
  readonly cause: string
  /** Empty for dollars. */
  readonly unit: string
  readonly bills: number
  readonly net: string
  readonly moved: string
}

/** What a report shows of one run, as the published views have it. Decimals are texts. */
export interface ReportFacts {
  readonly run: ReportRun
  /** Bills by status, commodity and unit. */
  readonly totals: readonly {
    readonly status: string
    readonly commodity: string
    readonly unit: string
    readonly bills: number
    readonly quantity: string
    /** Null if no bill of them has a total. */
    readonly total: string | null
    readonly expected: number
    readonly present: number
  }[]
  /** Bills with a billed amount, by unit and status of their cost. */
  readonly compared: readonly {
    readonly costStatus: string
    readonly unit: string
    readonly bills: number
    readonly quantityBilled: string
    readonly quantityComputed: string
    readonly costBilled: string | null
    readonly costComputed: string | null
    readonly costDifference: string | null
  }[]
  readonly costCauses: readonly CauseFact[]
  readonly quantityCauses: readonly CauseFact[]
  readonly outliers: readonly OutlierFact[]
  readonly days: readonly DayFact[]
  readonly shape: readonly ShapeFact[]
}

export interface ReportRun {
  readonly run: string
  readonly cycleId: string
  readonly first: string
  readonly last: string
  readonly computedAt: string
  readonly knownAt: string
  readonly timeZone: string
}

/** A bill whose cost or quantity differs, computed minus billed. */
export interface OutlierFact {
  readonly account: string
  readonly meter: string
  readonly first: string
  readonly last: string
  readonly unit: string
  readonly quantityDifference: string
  readonly costBilled: string | null
  readonly costComputed: string | null
  readonly costDifference: string | null
  readonly costCauses: Readonly<Record<string, string>>
  readonly quantityCauses: Readonly<Record<string, string>>
}

/** Reads of the meters of a run on a local day. */
export interface DayFact {
  readonly day: string
  readonly meters: number
  /** Meters of which reads are expected on that day. */
  readonly known: number
  readonly expected: number
  readonly present: number
  readonly silent: number
  readonly partial: number
}

/** The average quantity of a meter in one hour, at an hour of the local clock. */
export interface ShapeFact {
  readonly commodity: string
  readonly rateCode: string
  readonly unit: string
  readonly hour: number
  readonly meters: number
  readonly perHour: number
}

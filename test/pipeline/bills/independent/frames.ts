/** A cycle with one period, and how its bills are computed. */
export interface Frame {
  readonly cycle: string
  readonly first: string
  readonly last: string
  /** The day on which an open period is looked at. */
  readonly today?: string
  /** Only reads of the year before and the first days are there. */
  readonly hasLastYearOnly?: boolean
}

/** Periods with clock changes, of two months, open ones, and two cycles that overlap. */
export const frames: readonly Frame[] = [
  { cycle: 'SPRING', first: '2026-02-20', last: '2026-03-21' },
  { cycle: 'AUTUMN', first: '2025-10-20', last: '2025-11-19' },
  { cycle: 'LONG', first: '2026-03-20', last: '2026-05-08' },
  { cycle: 'OPEN', first: '2026-06-20', last: '2026-07-20', today: '2026-07-02' },
  { cycle: 'OPENS', first: '2026-03-01', last: '2026-03-31', today: '2026-03-06' },
  { cycle: 'OPENA', first: '2025-10-25', last: '2025-11-24', today: '2025-10-30' },
  {
    cycle: 'YEAR',
    first: '2021-03-07',
    last: '2021-04-05',
    today: '2021-03-09',
    hasLastYearOnly: true,
  },
  { cycle: 'EARLY', first: '2026-01-01', last: '2026-01-31' },
  { cycle: 'LATE', first: '2026-01-11', last: '2026-02-10' },
]

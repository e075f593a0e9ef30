/** A chart as the script of the page draws it. */
export interface ReportChart {
  /** A value of `steps` holds from its label to the next one. */
  readonly kind: 'bars' | 'steps'
  /** Labels of the horizontal axis, one for each value. */
  readonly labels: readonly string[]
  /** What the vertical axis measures. */
  readonly unit: string
  /** Null is a gap. */
  readonly lines: readonly {
    readonly label: string
    readonly values: readonly (number | null)[]
  }[]
}

/** Colours of lines in the style sheet, `--line-1` and on; bars have two. */
export const linesMax = 6

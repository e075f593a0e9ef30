import { recordFeedOf } from '../feed.js'
import type { SetName } from '../record-feed.js'
import { lintCycles } from './cycles.js'
import type { Linted, LintInput } from './finding.js'
import { lintRates } from './rates.js'
import { findTwice } from './twice.js'

const linters: Readonly<Record<SetName, (input: LintInput) => Linted>> = {
  cycles: lintCycles,
  rates: lintRates,
}

/** Judges the rows of a set of complete schedules together. Where a key stands twice, only that. */
export function lintSet(set: SetName, input: LintInput): Linted {
  const twice = Object.entries(input.rows).flatMap(([name, rows]) => {
    const feed = recordFeedOf(name)
    return feed === undefined ? [] : findTwice(feed, rows).errors
  })
  return twice.length > 0 ? { errors: twice, warnings: [] } : linters[set](withoutTwice(input))
}

/** Equal rows of one key count once. */
function withoutTwice(input: LintInput): LintInput {
  const rows = Object.entries(input.rows).map(([name, placed]) => {
    const feed = recordFeedOf(name)
    const repeated = new Set(feed === undefined ? [] : findTwice(feed, placed).repeated)
    return [name, placed.filter((one) => !repeated.has(one))]
  })
  return { ...input, rows: Object.fromEntries(rows) }
}

import type { DollarClass, Variance } from '../panels/variance.js'
import { bar, el, nothing } from './elements.js'
import { table } from './tables.js'
import { count, instant } from './text.js'

/** A class of the histogram in words: below 0 where less was computed than billed. */
function dollarsOf({ from, to }: DollarClass): string {
  if (from === undefined) return `below ${to}`
  return to === undefined ? `${from} and more` : `${from} to ${to}`
}

/** What the latest run of bills has that was held against billed ones. */
export function variance(found: Variance | null): readonly Node[] {
  if (found === null) return nothing('No computed bill was held against a billed one yet.')
  const { cycle, from, to, publishedAt, statuses, histogram, causes } = found
  const most = Math.max(1, ...histogram.map(({ bills }) => bills))
  const told = statuses.map(({ status, bills }) => `${count(bills)} ${status}`).join(', ')
  return [
    el('p', {}, `Cycle ${cycle}, ${from} to ${to}, run of ${instant(publishedAt)}: ${told}.`),
    table(
      'Bills by dollars computed beyond what was billed',
      [
        { title: 'dollars', right: true, cell: dollarsOf },
        { title: 'bills', right: true, cell: ({ bills }) => count(bills) },
        { title: '', cell: ({ bills }) => bar(bills / most) },
      ],
      histogram,
    ),
    table(
      'Why, by dollars',
      [
        { title: 'cause', cell: ({ cause }) => cause },
        { title: 'dollars', right: true, cell: ({ dollars }) => dollars.toFixed(2) },
        { title: 'bills', right: true, cell: ({ bills }) => count(bills) },
      ],
      causes,
    ),
  ]
}

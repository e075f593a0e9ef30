import type { DollarClass, Variance } from '../panels/variance.js'
import { bar, el, nothing } from './elements.js'
import { table } from './tables.js'
import { countText, instantText } from './text.js'

/** The label of a histogram class; negative if less was computed than billed. */
function dollarsOf({ from, to }: DollarClass): string {
  if (from === undefined) return `below ${to}`
  return to === undefined ? `${from} or more` : `${from} to ${to}`
}

/** The latest run of bills that was compared with billed ones. */
export function variance(found: Variance | null): readonly Node[] {
  if (found === null) return nothing('No computed bills have been compared with billed ones yet.')
  const { cycle, from, to, publishedAt, statuses, histogram, causes } = found
  const most = Math.max(1, ...histogram.map(({ bills }) => bills))
  const outcome = statuses.map(({ status, bills }) => `${countText(bills)} ${status}`).join(', ')
  return [
    el(
      'p',
      {},
      `Cycle ${cycle}, ${from} to ${to}, run of ${instantText(publishedAt)}: ${outcome}.`,
    ),
    table(
      'Bills by computed minus billed dollars',
      [
        { title: 'dollars', right: true, cell: dollarsOf },
        { title: 'bills', right: true, cell: ({ bills }) => countText(bills) },
        { title: '', cell: ({ bills }) => bar(bills / most) },
      ],
      histogram,
    ),
    table(
      'Causes by dollars',
      [
        { title: 'cause', cell: ({ cause }) => cause },
        { title: 'dollars', right: true, cell: ({ dollars }) => dollars.toFixed(2) },
        { title: 'bills', right: true, cell: ({ bills }) => countText(bills) },
      ],
      causes,
    ),
  ]
}

import type { DollarClass, Variance } from '../panels/variance.js'
import { bar, type Content, empty, table } from './elements.js'
import { html } from './lit-html.js'
import { countText, instantText } from './text.js'

/** The label of a histogram class; negative if less was computed than billed. */
function dollarsOf({ from, to }: DollarClass): string {
  if (from === undefined) return `below ${to}`
  return to === undefined ? `${from} or more` : `${from} to ${to}`
}

/** The latest run of bills that was compared with billed ones. */
export function variance(found: Variance | null): Content {
  if (found === null) return empty('No computed bills have been compared with billed ones yet.')
  const { cycle, from, to, publishedAt, statuses, histogram, causes } = found
  const most = Math.max(1, ...histogram.map(({ bills }) => bills))
  const outcome = statuses.map(({ status, bills }) => `${countText(bills)} ${status}`).join(', ')
  const dollars = table(
    'Bills by computed minus billed dollars',
    [
      { title: 'dollars', right: true, cell: dollarsOf },
      { title: 'bills', right: true, cell: ({ bills }) => countText(bills) },
      { title: '', cell: ({ bills }) => bar(bills / most) },
    ],
    histogram,
  )
  const reasons = table(
    'Causes by dollars',
    [
      { title: 'cause', cell: ({ cause }) => cause },
      { title: 'dollars', right: true, cell: ({ dollars }) => dollars.toFixed(2) },
      { title: 'bills', right: true, cell: ({ bills }) => countText(bills) },
    ],
    causes,
  )
  const run = `Cycle ${cycle}, ${from} to ${to}, run of ${instantText(publishedAt)}: ${outcome}.`
  return html`<p>${run}</p>${dollars}${reasons}`
}

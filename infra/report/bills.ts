import { grouped } from '../commands/output/table.js'
import { counted, dollars, energy, missing, money, percentOf, sumOf } from './amounts.js'
import { signedBar, tableOf } from './elements.js'
import type { CauseFact, OutlierFact, ReportFacts } from './facts.js'
import { html, type Markup } from './html.js'

/** Causes as a person says them; an unknown cause keeps its name. */
const causes: Readonly<Record<string, string>> = {
  missingIntervals: 'missing intervals',
  periodBoundary: 'period a day earlier or later',
  rounding: 'rounding',
  unexplained: 'unexplained',
  rateVersion: 'another version of the rate',
  tierDays: 'tier limits of other days',
  taxAndFees: 'taxes and fees',
  budgetBilling: 'budget billing',
  paymentArrangement: 'payment arrangement',
}
const spell = (cause: string) => (Object.hasOwn(causes, cause) ? (causes[cause] ?? cause) : cause)

const notBilled = 'No billed amounts have arrived for these bills.'

/** What was computed, projected and billed. */
export function totalsSection({ totals, compared }: ReportFacts): Markup {
  const ofStatus = (status: string) => totals.filter((row) => row.status === status)
  const billsOf = (rows: readonly { readonly bills: number }[]) =>
    counted(
      rows.reduce((sum, { bills }) => sum + bills, 0),
      'bill',
    )
  const tile = (title: string, amount: string | null, note: string) =>
    html`<div><dt>${title}</dt><dd><strong>${amount === null ? missing : dollars(amount)}</strong> <span class="note">${note}</span></dd></div>`
  const [computed, projected] = [ofStatus('computed'), ofStatus('projected')]
  const billed = compared.filter(({ costBilled }) => costBilled !== null)
  const both = compared.filter(({ costDifference }) => costDifference !== null)
  return html`<section><h2>Totals</h2>
<dl class="tiles">
${tile('Computed', sumOf(computed.map(({ total }) => total)), billsOf(computed))}
${tile('Projected', sumOf(projected.map(({ total }) => total)), billsOf(projected))}
${tile('Billed', sumOf(billed.map(({ costBilled }) => costBilled)), billsOf(billed))}
${tile('Computed minus billed', sumOf(both.map(({ costDifference }) => costDifference)), billsOf(both))}
</dl>
${tableOf(
  'Bills of the run by status',
  [
    { title: 'status', cell: ({ status }) => status },
    { title: 'commodity', cell: ({ commodity }) => commodity || missing },
    { title: 'bills', right: true, cell: ({ bills }) => grouped(bills) },
    { title: 'energy', right: true, cell: ({ quantity, unit }) => energy(quantity, unit) },
    { title: 'total, $', right: true, cell: ({ total }) => money(total) },
    {
      title: 'reads',
      right: true,
      cell: ({ present, expected }) => percentOf(present, expected),
    },
  ],
  totals,
)}
${compared.length === 0 ? nothing(notBilled) : comparedTable(compared)}
</section>
`
}

function comparedTable(rows: ReportFacts['compared']): Markup {
  return tableOf(
    'The same bills as the utility billed them, by status of their cost',
    [
      { title: 'cost', cell: ({ costStatus }) => costStatus },
      { title: 'bills', right: true, cell: ({ bills }) => grouped(bills) },
      {
        title: 'billed energy',
        right: true,
        cell: ({ quantityBilled, unit }) => energy(quantityBilled, unit),
      },
      {
        title: 'computed energy',
        right: true,
        cell: ({ quantityComputed, unit }) => energy(quantityComputed, unit),
      },
      { title: 'billed, $', right: true, cell: ({ costBilled }) => money(costBilled) },
      { title: 'computed, $', right: true, cell: ({ costComputed }) => money(costComputed) },
      { title: 'difference, $', right: true, cell: ({ costDifference }) => money(costDifference) },
    ],
    rows,
  )
}

/** The parts of all differences, by cause. */
export function causesSection({ compared, costCauses, quantityCauses }: ReportFacts): Markup {
  const units = [...new Set(quantityCauses.map(({ unit }) => unit))]
  return html`<section><h2>Variance by cause</h2>
${
  costCauses.length === 0
    ? nothing(compared.length === 0 ? notBilled : 'No cost differs from the billed amount.')
    : causeTable('Bills whose cost differs: computed minus billed, in dollars', costCauses)
}
${units.map((unit) =>
  causeTable(
    `Bills whose quantity differs: computed minus billed, in ${unit}`,
    quantityCauses.filter((row) => row.unit === unit),
  ),
)}
</section>
`
}

function causeTable(caption: string, rows: readonly CauseFact[]): Markup {
  const most = Math.max(...rows.map(({ net }) => Math.abs(Number(net))))
  const amount = (value: string, unit: string) => (unit === '' ? money(value) : energy(value, unit))
  return tableOf(
    caption,
    [
      { title: 'cause', cell: ({ cause }) => spell(cause) },
      { title: 'bills', right: true, cell: ({ bills }) => grouped(bills) },
      { title: 'net', right: true, cell: ({ net, unit }) => amount(net, unit) },
      { title: 'without signs', right: true, cell: ({ moved, unit }) => amount(moved, unit) },
      { title: 'net as a bar', cell: ({ net }) => signedBar(Number(net), most) },
    ],
    rows,
  )
}

/** The bills with the largest differences. */
export function outliersSection({ compared, outliers }: ReportFacts): Markup {
  const rows = outliers.length
  return html`<section><h2>Largest variances</h2>
${
  rows === 0
    ? nothing(compared.length === 0 ? notBilled : 'No bill differs from the billed one.')
    : tableOf(
        `${counted(rows, 'bill')}, the largest cost difference first; differences are computed minus billed`,
        [
          { title: 'account', cell: ({ account }) => account || missing },
          { title: 'meter', cell: ({ meter }) => meter },
          { title: 'period', cell: ({ first, last }) => `${first} to ${last}` },
          { title: 'billed, $', right: true, cell: ({ costBilled }) => money(costBilled) },
          { title: 'computed, $', right: true, cell: ({ costComputed }) => money(costComputed) },
          {
            title: 'difference, $',
            right: true,
            cell: ({ costDifference }) => money(costDifference),
          },
          {
            title: 'energy difference',
            right: true,
            cell: ({ quantityDifference, unit }) => energy(quantityDifference, unit),
          },
          { title: 'explanation', cell: explanationOf },
        ],
        outliers,
      )
}
<p class="todo">For the lines of one bill run <code>tieline explain --account ACCOUNT --period FIRST-DAY</code>.</p>
</section>
`
}

/** The causes of the cost, or of the energy if the cost has none; the largest first. */
function explanationOf({ costCauses, quantityCauses, unit }: OutlierFact): string {
  const sorted = (parts: Readonly<Record<string, string>>) =>
    Object.entries(parts)
      .filter(([, worth]) => Number(worth) !== 0)
      .sort(([, a], [, b]) => Math.abs(Number(b)) - Math.abs(Number(a)))
  const ofCost = sorted(costCauses).map(([cause, worth]) => `${spell(cause)} ${dollars(worth)}`)
  const ofQuantity = sorted(quantityCauses).map(
    ([cause, worth]) => `${spell(cause)} ${energy(worth, unit)}`,
  )
  return (ofCost.length > 0 ? ofCost : ofQuantity).join(', ') || missing
}

export function nothing(text: string): Markup {
  return html`<p class="nothing">${text}</p>`
}

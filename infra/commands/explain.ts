import {
  type Billed,
  type ExplainedLine,
  type Explanation,
  explain as readBills,
} from '../../pipeline/bills/variance/explain.js'
import { type Context, exitCodes } from './context.js'
import { expectPeriod } from './day.js'
import { grouped, printable, renderTable, type TableColumn } from './output/table.js'
import { useStore } from './use-stack.js'

export interface ExplainOptions {
  readonly account: string
  /** First day of the period. */
  readonly period: string
  readonly json: boolean
}

/** Prints the bills of an account: lines, reads, and why they differ from the billed amounts. */
export async function explainCommand(context: Context, options: ExplainOptions): Promise<number> {
  const { account, period: start } = options
  expectPeriod(start)
  const bills = await useStore(context, 'explain', (store) => readBills(store, { account, start }))
  context.print(
    options.json ? JSON.stringify(bills, undefined, 2) : bills.map(renderBill).join('\n\n'),
  )
  return exitCodes.good
}

/** A bill for a terminal. */
export function renderBill(bill: Explanation): string {
  const { lines, total, unit, quantity, expected, present, billed } = bill
  const projected = bill.projected === 0 ? '' : `, ${bill.projected} projected (${bill.method})`
  const share = expected === 0 ? 0 : (100 * present) / expected
  const reads = `${grouped(quantity)} ${unit}, ${grouped(present)} of ${grouped(expected)} intervals (${share.toFixed(1)} %)`
  const head = [
    `account ${bill.account}, meter ${bill.meter}, cycle ${bill.cycleId}`,
    `${bill.first} to ${bill.last}, ${bill.days} days${projected}, rate ${bill.rateCodes.join(', then ')}`,
    reads,
    ...(bill.reason === '' ? [] : [`${bill.status}: ${bill.reason}`]),
  ]
  return [
    ...head.map(printable),
    ...(lines.length === 0 ? [] : ['', renderTable(lineColumns(unit), lines)]),
    ...(total === null ? [] : ['', `computed ${dollars(total)}`]),
    ...(billed === undefined
      ? ['no billed amount to compare with yet']
      : renderBilled(billed, unit)),
  ].join('\n')
}

function lineColumns(unit: string): readonly TableColumn<ExplainedLine>[] {
  return [
    { title: 'line', cell: ({ name }) => name },
    { title: 'part', cell: ({ component, kind }) => component || kind },
    { title: 'from', cell: ({ from }) => from },
    { title: 'to', cell: ({ to }) => to },
    { title: unit, right: true, cell: ({ quantity }) => grouped(quantity ?? '') },
    { title: 'price', right: true, cell: spellPrice },
    { title: 'dollars', right: true, cell: ({ amount }) => dollars(amount) },
  ]
}

/** A line with a price and no quantity is a percentage. */
function spellPrice({ price, quantity }: ExplainedLine): string {
  if (price === null) return ''
  return quantity === null ? `${price} %` : price
}

function renderBilled(billed: Billed, unit: string): readonly string[] {
  const { cost, costDifference, quantityDifference } = billed
  return [
    `billed ${cost === null ? 'without a cost' : dollars(cost)}, ${grouped(billed.quantity)} ${unit}, ${billed.first} to ${billed.last}`,
    '',
    `quantity ${billed.quantityStatus}, computed minus billed ${grouped(quantityDifference)} ${unit}`,
    ...causesOf(billed.quantityCauses, (worth) => `${grouped(worth)} ${unit}`),
    `cost ${billed.costStatus}${costDifference === null ? '' : `, computed minus billed ${dollars(costDifference)}`}`,
    ...causesOf(billed.costCauses, dollars),
  ]
}

function causesOf(
  causes: Readonly<Record<string, string>>,
  spell: (worth: string) => string,
): readonly string[] {
  return Object.entries(causes).map(([cause, worth]) => `  ${cause} ${spell(worth)}`)
}

/** 12.5 as 12.50; digits after the cent are kept. */
function dollars(amount: string): string {
  const [whole = '', cents = ''] = amount.split('.')
  return grouped(`${whole}.${cents.padEnd(2, '0')}`)
}

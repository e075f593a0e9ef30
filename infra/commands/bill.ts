import { type BillSummary, bill } from '../../pipeline/bills/run.js'
import { Fault } from '../../schemas/fault.js'
import { createZone } from '../../schemas/time/zone.js'
import { type Context, exitCodes } from './context.js'
import { expectPeriod } from './day.js'
import { grouped, renderTable, type TableColumn } from './output/table.js'
import { useStore } from './use-stack.js'

export interface BillOptions {
  readonly cycle: string
  /** First day of the period; default: the latest period that has ended. */
  readonly period?: string
  /** Reads are used as stored at that time. */
  readonly asOf?: string
  /** Print the summary as JSON. */
  readonly json: boolean
}

/** Computes the bills of one period of a cycle; prints counts and the reasons for missing bills. */
export async function billCommand(context: Context, options: BillOptions): Promise<number> {
  const { cycle, period } = options
  if (period !== undefined) expectPeriod(period)
  const asOf = toInstant(options.asOf)
  const summary = await useStore(context, 'bill', (store, profile) =>
    bill(
      { store, profile, zone: createZone(profile.timeZone), now: () => new Date() },
      { cycleId: cycle, ...(period && { start: period }), ...(asOf && { asOf }) },
    ),
  )
  context.print(options.json ? JSON.stringify(summary, undefined, 2) : render(summary))
  return exitCodes.good
}

function toInstant(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const at = new Date(text)
  const isZoned = /^\d{4}-.*(Z|[+-]\d\d:\d\d)$/.test(text)
  if (isZoned && !Number.isNaN(at.getTime())) return at
  throw new Fault(
    'CONFIG',
    `--as-of ${text} is not a time with a zone; write it like 2026-02-05T12:00:00Z`,
  )
}

type Reason = BillSummary['reasons'][number]

const columns: readonly TableColumn<Reason>[] = [
  { title: 'incomplete', cell: (row) => row.status },
  { title: 'bills', right: true, cell: (row) => grouped(row.bills) },
  { title: 'reason', cell: (row) => row.reason },
]
const reasonsShown = 20

type CauseFound = NonNullable<BillSummary['variance']>['causes'][number]

const causeColumns: readonly TableColumn<CauseFound>[] = [
  { title: 'cause', cell: (row) => row.cause },
  { title: 'bills', right: true, cell: (row) => grouped(row.bills) },
  { title: 'dollars', right: true, cell: (row) => grouped(row.dollars) },
]

const outcomes: Readonly<Record<string, string>> = {
  match: 'matches',
  differs: 'mismatches',
  notComputed: 'not computed',
  notBilled: 'not billed',
  noUsage: 'without usage',
}

/** How many bills match the billed amounts, and the causes of the differences. */
function renderVariance(variance: BillSummary['variance']): readonly string[] {
  if (variance === undefined) return ['no billed amounts to compare with yet']
  const { billed, quantity, cost, causes } = variance
  const spell = (what: string, counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .map(([status, bills], at) => {
        const outcome = outcomes[status] ?? status
        const words = bills === 1 ? outcome.replace(/matches$/, 'match') : outcome
        return `${grouped(bills)} ${at === 0 ? what : ''}${words}`
      })
      .join(', ')
  return [
    `compared with ${grouped(billed)} billed: ${spell('quantity ', quantity)}; ${spell('cost ', cost)}`,
    ...(causes.length > 0 ? ['', renderTable(causeColumns, causes)] : []),
  ]
}

function render(summary: BillSummary): string {
  const { cycleId, first, last, bills, total, reasons, seconds, variance } = summary
  const count = Object.values(bills).reduce((sum, one) => sum + one, 0)
  const all = Object.values(seconds).reduce((sum, one) => sum + one, 0)
  const whole = (bills.computed ?? 0) + (bills.projected ?? 0)
  const more = reasons.length - reasonsShown
  return [
    `cycle ${cycleId}, ${first} to ${last}: ${grouped(whole)} of ${grouped(count)} bills, ${total} dollars in total, ${all.toFixed(1)} s`,
    ...(reasons.length > 0 ? ['', renderTable(columns, reasons.slice(0, reasonsShown))] : []),
    ...(more > 0 ? [`and ${grouped(more)} more reasons`] : []),
    ...renderVariance(variance),
  ].join('\n')
}

import {
  type ComparisonSummary,
  compare as compareRates,
} from '../../pipeline/bills/compare/compare.js'
import { createZone } from '../../schemas/time/zone.js'
import { type Context, exitCodes } from './context.js'
import { type Column, grouped, renderTable } from './output/table.js'
import { useStore } from './use-stack.js'

export interface CompareOptions {
  /** Without it all cycles are compared. */
  readonly cycle?: string
  /** Print the summary as JSON. */
  readonly json: boolean
}

/** Compares the rates of all registered meters and prints how many there are and why some have no cost. */
export async function compare(context: Context, { cycle, json }: CompareOptions): Promise<number> {
  const summary = await useStore(context, 'compare', (store, profile) =>
    compareRates(
      { store, profile, zone: createZone(profile.timeZone), now: () => new Date() },
      cycle === undefined ? {} : { cycleId: cycle },
    ),
  )
  context.print(json ? JSON.stringify(summary, undefined, 2) : renderComparison(summary))
  return exitCodes.good
}

const cycleColumns: readonly Column<ComparisonSummary['cycles'][number]>[] = [
  { title: 'cycle', cell: ({ cycleId }) => cycleId },
  { title: 'from', cell: ({ first }) => first },
  { title: 'to', cell: ({ last }) => last },
  { title: 'periods', right: true, cell: ({ periods }) => grouped(periods) },
]

const reasonColumns: readonly Column<ComparisonSummary['reasons'][number]>[] = [
  { title: 'not whole', cell: ({ status }) => status },
  { title: 'comparisons', right: true, cell: ({ comparisons }) => grouped(comparisons) },
  { title: 'why', cell: ({ reason }) => reason },
]
const reasonsShown = 20

/** What a comparison came to, for a terminal. */
export function renderComparison(summary: ComparisonSummary): string {
  const { meters, rateCodes, comparisons, cycles, skipped, reasons, seconds } = summary
  const count = Object.values(comparisons).reduce((sum, one) => sum + one, 0)
  const more = reasons.length - reasonsShown
  return [
    `${grouped(meters)} meters, ${grouped(rateCodes)} rate codes: ${grouped(comparisons['compared'] ?? 0)} of ${grouped(count)} comparisons are whole, ${seconds.toFixed(1)} s`,
    '',
    renderTable(cycleColumns, cycles),
    ...(reasons.length > 0 ? ['', renderTable(reasonColumns, reasons.slice(0, reasonsShown))] : []),
    ...(more > 0 ? [`and ${grouped(more)} more reasons`] : []),
    ...skipped.map(
      ({ cycleId, meters }) =>
        `cycle ${JSON.stringify(cycleId)} has no period that has ended: load its BillingCycles file; meters left out: ${grouped(meters)}`,
    ),
  ].join('\n')
}

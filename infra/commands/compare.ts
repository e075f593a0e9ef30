import { type ComparisonSummary, compare } from '../../pipeline/bills/compare/compare.js'
import { createZone } from '../../schemas/time/zone.js'
import { type Context, exitCodes } from './context.js'
import { grouped, renderTable, type TableColumn } from './output/table.js'
import { useStore } from './use-stack.js'

export interface CompareOptions {
  /** Default: all cycles. */
  readonly cycle?: string
  /** Print the summary as JSON. */
  readonly json: boolean
}

/** Compares all registered meters under every rate; prints counts and the reasons for missing costs. */
export async function compareCommand(
  context: Context,
  { cycle, json }: CompareOptions,
): Promise<number> {
  const summary = await useStore(context, 'compare', (store, profile) =>
    compare(
      { store, profile, zone: createZone(profile.timeZone), now: () => new Date() },
      cycle === undefined ? {} : { cycleId: cycle },
    ),
  )
  context.print(json ? JSON.stringify(summary, undefined, 2) : renderComparison(summary))
  return exitCodes.good
}

const cycleColumns: readonly TableColumn<ComparisonSummary['cycles'][number]>[] = [
  { title: 'cycle', cell: ({ cycleId }) => cycleId },
  { title: 'from', cell: ({ first }) => first },
  { title: 'to', cell: ({ last }) => last },
  { title: 'periods', right: true, cell: ({ periods }) => grouped(periods) },
]

const reasonColumns: readonly TableColumn<ComparisonSummary['reasons'][number]>[] = [
  { title: 'incomplete', cell: ({ status }) => status },
  { title: 'comparisons', right: true, cell: ({ comparisons }) => grouped(comparisons) },
  { title: 'reason', cell: ({ reason }) => reason },
]
const reasonsShown = 20

/** The summary of a comparison for a terminal. */
export function renderComparison(summary: ComparisonSummary): string {
  const { meters, rateCodes, comparisons, cycles, skipped, reasons, seconds } = summary
  const count = Object.values(comparisons).reduce((sum, one) => sum + one, 0)
  const more = reasons.length - reasonsShown
  return [
    `${grouped(meters)} meters, ${grouped(rateCodes)} rate codes: ${grouped(comparisons['compared'] ?? 0)} of ${grouped(count)} comparisons are complete, ${seconds.toFixed(1)} s`,
    '',
    renderTable(cycleColumns, cycles),
    ...(reasons.length > 0 ? ['', renderTable(reasonColumns, reasons.slice(0, reasonsShown))] : []),
    ...(more > 0 ? [`and ${grouped(more)} more reasons`] : []),
    ...skipped.map(
      ({ cycleId, meters }) =>
        `cycle ${JSON.stringify(cycleId)} has no ended period and ${grouped(meters)} meters were skipped; load its BillingCycles file`,
    ),
  ].join('\n')
}

import { feedNames, recordFeedOf } from '../../../schemas/feed.js'

/** Views and tables that data engineers may read, with their heading in the dictionary. */
export interface ViewGroup {
  readonly title: string
  readonly names: readonly string[]
}

/** The view of each feed; a feed whose rows are replaced one by one has a restatement view too. */
function feedViews(): readonly string[] {
  return feedNames.flatMap((name) => {
    const feed = recordFeedOf(name)
    if (feed === undefined) return []
    return feed.schedule === undefined ? [feed.view, `${feed.view}_restatement`] : [feed.view]
  })
}

/** The contract with data engineers: a major version only adds names and types. */
export const publicViews: readonly ViewGroup[] = [
  {
    title: 'Usage',
    names: [
      'usage',
      'registered_usage',
      'usage_change',
      'usage_day',
      'usage_as_of',
      'usage_restatement',
      'freshness',
    ],
  },
  { title: 'Customers', names: ['registration', 'tenancy_event'] },
  { title: 'Files', names: ['file_load', 'file_arrival', 'rejected_row'] },
  { title: 'What utilities send', names: [...feedViews(), 'bill_history', 'bill_overlap'] },
  {
    title: 'Computed bills',
    names: [
      'projected_bill',
      'projected_bill_line',
      'day_cost',
      'day_cost_line',
      'month_cost',
      'interval_cost',
      'hour_cost',
      'projected_bill_restatement',
      'bill_variance',
      'bill_run',
      'rate_comparison',
      'comparison_run',
    ],
  },
]

export const publicNames: readonly string[] = publicViews.flatMap(({ names }) => names)

/** Which process tells a metric; each has an operations port of its own. */
export type Part = 'gateway' | 'worker'

interface Entry {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly of: readonly Part[]
  readonly labels: readonly string[]
  /** What it says, with its unit; the text of `# HELP` and of the reference. */
  readonly help: string
  /** What keeps the number of its series small. */
  readonly bound: string
}

const one = 'one series'
const perQueue = 'the queues of this release'
const perFeed = 'the feeds of this release, and other for names that are none of them'

/**
 * Every metric of Tieline. The metrics are made of this table, and so is their reference in
 * infra/metrics/README.md. A label takes its values from a list with an end: routes, codes and feeds
 * of this release, or names of the profile; never anything that a request or a file brings.
 */
export const catalogue = {
  tieline_build_info: {
    type: 'gauge',
    of: ['gateway', 'worker'],
    labels: ['version', 'node'],
    help: '1, with the versions of Tieline and of Node as labels.',
    bound: one,
  },
  tieline_requests_total: {
    type: 'counter',
    of: ['gateway'],
    labels: ['route', 'status', 'error_code'],
    help: 'Requests answered, by route, HTTP status and the errorCode of the body (1, 2, 3, 4, 86; empty without one); route none for a path or method that is not known.',
    bound: 'routes by the statuses and codes that they can answer with',
  },
  tieline_request_seconds: {
    type: 'histogram',
    of: ['gateway'],
    labels: ['route'],
    help: 'Seconds from the end of a request header to its answer.',
    bound: 'routes',
  },
  tieline_failures_total: {
    type: 'counter',
    of: ['gateway', 'worker'],
    labels: ['code'],
    help: 'Failures by the code of their fault, UNEXPECTED for a broken program: of requests and background work in the gateway, of jobs in the worker.',
    bound: 'the table of fault codes',
  },
  tieline_token_cache_total: {
    type: 'counter',
    of: ['gateway'],
    labels: ['outcome'],
    help: 'Looks for a token among those verified before: hit or miss.',
    bound: 'two series',
  },
  tieline_keys_fetched_timestamp_seconds: {
    type: 'gauge',
    of: ['gateway'],
    labels: ['issuer'],
    help: "When the signing keys of an issuer were last fetched, seconds since 1970; 0 where they never were. Only for OpenID providers: a SAML provider's lie in files, opaque tokens need none.",
    bound: 'the issuers of the profile',
  },
  tieline_breaker_open: {
    type: 'gauge',
    of: ['gateway'],
    labels: ['system'],
    help: '1 while the CIS is not asked because it failed too often in a row, else 0. The head-end has no breaker: a bind is always tried.',
    bound: 'cis',
  },
  tieline_failures_in_a_row: {
    type: 'gauge',
    of: ['gateway'],
    labels: ['system'],
    help: 'Calls to the CIS or the head-end that failed since the last one that did not.',
    bound: 'cis and ami',
  },
  tieline_store_up: {
    type: 'gauge',
    of: ['worker'],
    labels: [],
    help: '1 where ClickHouse answered what this scrape asked, else 0; what it would have told is then missing.',
    bound: one,
  },
  tieline_queue_up: {
    type: 'gauge',
    of: ['worker'],
    labels: [],
    help: '1 where Redis answered what this scrape asked, else 0; what it would have told is then missing.',
    bound: one,
  },
  tieline_disk_free_bytes: {
    type: 'gauge',
    of: ['worker'],
    labels: [],
    help: 'Space left where the landing lies.',
    bound: one,
  },
  tieline_queue_jobs: {
    type: 'gauge',
    of: ['worker'],
    labels: ['queue', 'state'],
    help: "Jobs in a queue by BullMQ's state; delayed are those that wait for their next attempt, or for their time.",
    bound: `${perQueue}, by seven states`,
  },
  tieline_queue_oldest_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: ['queue'],
    help: 'Age of the job that has waited longest for a worker, 0 where none waits.',
    bound: perQueue,
  },
  tieline_step_seconds: {
    type: 'histogram',
    of: ['worker'],
    labels: ['step'],
    help: 'Seconds that a step took which came to its end, in this worker.',
    bound: perQueue,
  },
  tieline_files: {
    type: 'gauge',
    of: ['worker'],
    labels: ['status'],
    help: 'Files in the ledger by how far they have come; arrived are those not taken in yet.',
    bound: 'eight states',
  },
  tieline_oldest_file_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: [],
    help: 'Age of the oldest file that has been taken in and is neither published nor quarantined, 0 where there is none.',
    bound: one,
  },
  tieline_rows: {
    type: 'gauge',
    of: ['worker'],
    labels: ['feed', 'outcome'],
    help: 'Rows of all files that are published or quarantined, by where they went. The ledger counts them, so that they outlive every restart; all workers tell the same.',
    bound: `${perFeed}, by six outcomes`,
  },
  tieline_quantity: {
    type: 'gauge',
    of: ['worker'],
    labels: ['feed', 'outcome'],
    help: 'The energy of those rows, in the unit in which it was sent.',
    bound: `${perFeed}, by six outcomes`,
  },
  tieline_newest_interval_timestamp_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: ['company', 'feed'],
    help: 'End of the newest interval in the published files of a company, seconds since 1970; missing where nothing is published.',
    bound: 'the company codes of the profile, by feed',
  },
  tieline_cycle_newest_interval_timestamp_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: ['cycle', 'commodity'],
    help: 'The same by billing cycle, as four registered meters of each show: the first by their number. No newer than seven days ago where those had no read since.',
    bound: '64 billing cycles, the first by name, by commodity',
  },
} as const satisfies Readonly<Record<string, Entry>>

export type MetricName = keyof typeof catalogue
export type LabelsOf<N extends MetricName> = Readonly<
  Record<(typeof catalogue)[N]['labels'][number], string>
>

/** The entries of one process, or of all. */
export function entriesOf(part?: Part): readonly (readonly [MetricName, Entry])[] {
  const entries = Object.entries(catalogue) as [MetricName, Entry][]
  return entries.filter(([, { of }]) => part === undefined || of.includes(part))
}

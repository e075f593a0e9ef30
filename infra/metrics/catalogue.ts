/** Which process exports a metric; each has an operations port of its own. */
export type Part = 'gateway' | 'worker'

interface Entry {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly of: readonly Part[]
  readonly labels: readonly string[]
  /** Meaning and unit; the text of `# HELP` and of the reference. */
  readonly help: string
  /** What limits the number of its series. */
  readonly bound: string
}

const one = 'one series'
const perQueue = 'the queues of this release'
const perFeed = 'the feeds of this release, and other for unknown names'

/**
 * Every metric of Tieline; the source of the metrics and of their reference in infra/metrics/README.md.
 * Label values come from finite lists: routes, codes and feeds of this release, or names in the profile.
 * They never come from a request or a file.
 */
export const catalogue = {
  tieline_build_info: {
    type: 'gauge',
    of: ['gateway', 'worker'],
    labels: ['version', 'node'],
    help: 'Constant 1, with the versions of Tieline and Node as labels.',
    bound: one,
  },
  tieline_requests_total: {
    type: 'counter',
    of: ['gateway'],
    labels: ['route', 'status', 'error_code'],
    help: 'Requests answered, by route, HTTP status and errorCode of the body. The code is 1, 2, 3, 4, 86 or empty. The route is none for an unknown path or method.',
    bound: 'routes by their statuses and codes',
  },
  tieline_request_seconds: {
    type: 'histogram',
    of: ['gateway'],
    labels: ['route'],
    help: 'Seconds from the end of the request header to the response.',
    bound: 'routes',
  },
  tieline_failures_total: {
    type: 'counter',
    of: ['gateway', 'worker'],
    labels: ['code'],
    help: 'Failures by the code of their fault, UNEXPECTED for a programming error. In the gateway of requests and background work, in the worker of jobs.',
    bound: 'the table of fault codes',
  },
  tieline_token_cache_total: {
    type: 'counter',
    of: ['gateway'],
    labels: ['outcome'],
    help: 'Lookups in the cache of verified tokens: hit or miss.',
    bound: 'two series',
  },
  tieline_keys_fetched_timestamp_seconds: {
    type: 'gauge',
    of: ['gateway'],
    labels: ['issuer'],
    help: 'When the signing keys of an issuer were last fetched, seconds since 1970; 0 if never. Only for OpenID providers: SAML keys are files, opaque tokens need none.',
    bound: 'the issuers of the profile',
  },
  tieline_tokens_refused_total: {
    type: 'counter',
    of: ['gateway'],
    labels: ['reason'],
    help: 'Requests refused with errorCode 1, by the reason in the request log, such as audience, scope, issuer or expired. Audience and scope point at the configuration. None of them counts as a failed attempt.',
    bound: 'the reasons of this release',
  },
  tieline_cis_omitted_total: {
    type: 'counter',
    of: ['gateway'],
    labels: ['part'],
    help: 'Meters of other commodities and sites without a meter that were left out of customer records.',
    bound: 'meters and sites',
  },
  tieline_cis_invalid_total: {
    type: 'counter',
    of: ['gateway'],
    labels: ['field', 'kind'],
    help: 'Invalid fields of customer records, answered with 503, by field and kind of value: missing, text, number, boolean, list, object or null.',
    bound: 'the fields of a customer record, by seven kinds',
  },
  tieline_breaker_open: {
    type: 'gauge',
    of: ['gateway'],
    labels: ['system'],
    help: '1 while the CIS is not called because it failed too often in a row, else 0. The head-end has no breaker: a bind is always tried.',
    bound: 'cis',
  },
  tieline_failures_in_a_row: {
    type: 'gauge',
    of: ['gateway', 'worker'],
    labels: ['system'],
    help: 'Requests that failed since the last good answer of the CIS, the head-end, the identity provider or the MDM; those that the breaker refused count too.',
    bound: 'cis, ami, identity and mdm',
  },
  tieline_failing_since_timestamp_seconds: {
    type: 'gauge',
    of: ['gateway', 'worker'],
    labels: ['system'],
    help: 'When the first of them failed, seconds since 1970; 0 while the system answers. It is set without failed requests if the keys of an identity provider cannot be fetched.',
    bound: 'cis, ami, identity and mdm',
  },
  tieline_store_up: {
    type: 'gauge',
    of: ['worker'],
    labels: [],
    help: '1 if ClickHouse answered the queries of this scrape, else 0. Metrics read from it are then missing.',
    bound: one,
  },
  tieline_queue_up: {
    type: 'gauge',
    of: ['worker'],
    labels: [],
    help: '1 if Redis answered the requests of this scrape, else 0. Metrics read from it are then missing.',
    bound: one,
  },
  tieline_disk_free_bytes: {
    type: 'gauge',
    of: ['worker'],
    labels: [],
    help: 'Free disk space in the folder of the landing.',
    bound: one,
  },
  tieline_queue_jobs: {
    type: 'gauge',
    of: ['worker'],
    labels: ['queue', 'state'],
    help: "Jobs in a queue by BullMQ's state; delayed jobs wait for their next attempt or their time.",
    bound: `${perQueue}, by seven states`,
  },
  tieline_queue_oldest_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: ['queue'],
    help: 'Age of the job that has waited longest for a worker; 0 if none is waiting.',
    bound: perQueue,
  },
  tieline_step_seconds: {
    type: 'histogram',
    of: ['worker'],
    labels: ['step'],
    help: 'Duration of completed steps in this worker, seconds; of register with the time that a job waits for others.',
    bound: perQueue,
  },
  tieline_files: {
    type: 'gauge',
    of: ['worker'],
    labels: ['status'],
    help: 'Files in the ledger by status; arrived files have not been read yet.',
    bound: 'eight states',
  },
  tieline_oldest_file_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: [],
    help: 'Age of the oldest file that arrived and is neither published nor quarantined; 0 if there is none.',
    bound: one,
  },
  tieline_rows: {
    type: 'gauge',
    of: ['worker'],
    labels: ['feed', 'outcome'],
    help: 'Rows of all published or quarantined files by outcome; a repair adds none. Counted from the ledger, so they survive restarts and are the same in all workers.',
    bound: `${perFeed}, by six outcomes`,
  },
  tieline_quantity: {
    type: 'gauge',
    of: ['worker'],
    labels: ['feed', 'outcome'],
    help: 'The quantity of those rows, in the unit as sent.',
    bound: `${perFeed}, by six outcomes`,
  },
  tieline_damage: {
    type: 'gauge',
    of: ['worker'],
    labels: ['kind'],
    help: 'What is missing or damaged by the latest verification and not dismissed: rows of an arrival, stored days, part, ledger, chunk or archive.',
    bound: 'six kinds',
  },
  tieline_verified_timestamp_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: ['covered'],
    help: 'When stored rows, or the bytes of kept files, were last verified, seconds since 1970; 0 if never.',
    bound: 'rows and files',
  },
  tieline_newest_interval_timestamp_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: ['company', 'feed'],
    help: 'End of the newest interval in the published files of a company, seconds since 1970; for an interval in the future, when its file arrived. Missing if nothing is published.',
    bound: 'the company codes of the profile, by feed',
  },
  tieline_cycle_newest_interval_timestamp_seconds: {
    type: 'gauge',
    of: ['worker'],
    labels: ['cycle', 'commodity'],
    help: 'The same by billing cycle, sampled from the first four registered meters of each. At least seven days ago if those have no newer read.',
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

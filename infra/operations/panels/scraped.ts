/** The metrics of a gateway scrape that the page shows. */
export interface Scraped {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Start of the process in seconds since 1970; 0 if it is not known. */
  readonly startedAt: number
  readonly answers: readonly {
    readonly route: string
    readonly status: string
    readonly errorCode: string
    readonly requests: number
  }[]
  /** Cumulative requests by the upper bound of the bucket in seconds, ascending. */
  readonly buckets: readonly (readonly [number, number])[]
}

const series = /^(tieline_requests_total|tieline_request_seconds_bucket)\{([^}]*)\} (\S+)/
const startedSeries = /^process_start_time_seconds (\S+)$/m

/** Reads requests and latencies from the Prometheus text of the gateway. */
export function parseGatewayScrape(text: string, at: number): Scraped {
  const answers: Scraped['answers'][number][] = []
  const buckets = new Map<number, number>()
  for (const line of text.split('\n')) {
    const [, name, labelled = '', value = '0'] = series.exec(line) ?? []
    if (name === undefined) continue
    const labels = Object.fromEntries(
      [...labelled.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text ?? '']),
    )
    const { route = '', status = '', error_code: errorCode = '', le = '' } = labels
    if (name === 'tieline_requests_total') {
      answers.push({ route, status, errorCode, requests: Number(value) })
    } else {
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
      buckets.set(bound, (buckets.get(bound) ?? 0) + Number(value))
    }
  }
  const startedAt = Number(startedSeries.exec(text)?.[1] ?? 0)
  return { at, startedAt, answers, buckets: [...buckets].sort(([a], [b]) => a - b) }
}

/** The gateway between two scrapes. */
export interface Moment {
  /** Seconds since 1970. */
  readonly at: number
  /** Null where it is not known: there is only one scrape, or nobody watched. */
  readonly perSecond: number | null
  /** 50th and 95th percentile of the latency in seconds; null without requests. */
  readonly median: number | null
  readonly slow: number | null
}

/** What is not known; a chart shows a gap. */
export function unknownAt({ at }: Scraped): Moment {
  return { at: at / 1_000, perSecond: null, median: null, slow: null }
}

/** Rate and latency between two scrapes; not known after a restart of the gateway. */
export function rateBetween(before: Scraped, now: Scraped): Moment {
  const seconds = (now.at - before.at) / 1_000
  const counted = now.buckets.map(([bound, requests]) => {
    const earlier = before.buckets.find(([one]) => one === bound)?.[1] ?? 0
    return [bound, requests - earlier] as const
  })
  const all = counted.at(-1)?.[1] ?? 0
  const isRestarted = before.startedAt !== now.startedAt || all < 0
  if (seconds <= 0 || isRestarted) return unknownAt(now)
  const below = (share: number) =>
    all === 0 ? null : finite(counted.find(([, requests]) => requests >= share * all)?.[0])
  return { at: now.at / 1_000, perSecond: all / seconds, median: below(0.5), slow: below(0.95) }
}

function finite(bound: number | undefined): number | null {
  return bound !== undefined && Number.isFinite(bound) ? bound : null
}

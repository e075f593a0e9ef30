import type { Settings, Statement, Store } from '../../pipeline/store/clickhouse.js'
import type { ReadsSettings } from '../../schemas/gateway/reads-settings.js'
import { createReadLanes } from './lanes.js'

/** Reads of the store, within the limits of the profile. Faults: the store's, and `OVERLOAD`. */
export interface ReadSource {
  rows<T>(statement: Statement): Promise<readonly T[]>
  /** Rows as JSON texts, which this process does not parse. */
  lines(statement: Statement): Promise<readonly string[]>
}

/** A statement of reads runs on one thread, so that a lane costs at most one core. */
const threads = 1

/** Decimals and counts as JSON numbers, for texts that are passed on. */
const plainNumbers = {
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_decimals: 0,
} as const

/** The store as its reader sees it: it may select from the published views and what is beneath. */
export function createReadSource(store: Store, limits: ReadsSettings): ReadSource {
  const inLane = createReadLanes(limits)
  const bounded = (statement: Statement, more: Settings = {}): Statement => ({
    ...statement,
    settings: {
      max_execution_time: limits.secondsMax,
      max_threads: threads,
      ...more,
    },
  })
  return {
    rows: (statement) => inLane(() => store.rows(bounded(statement))),
    lines: (statement) =>
      inLane(async () => {
        const stream = await store.stream(bounded(statement, plainNumbers), 'JSONEachRow')
        const pieces: Buffer[] = []
        for await (const piece of stream) pieces.push(Buffer.from(piece))
        const text = Buffer.concat(pieces).toString('utf8')
        return text === '' ? [] : text.trimEnd().split('\n')
      }),
  }
}

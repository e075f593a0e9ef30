import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, plain, type Row } from '../store/columns.js'
import { sql } from '../store/sql.js'

/** Failures in a row of listing a source. */
export interface SourceFailure {
  readonly failures: number
  readonly code: string
  readonly detail: string
  readonly since: Date
  readonly retryAt: Date
}

export interface SourceState {
  /** When an operator paused it; undefined if it is not paused. */
  readonly pausedAt: Date | undefined
  readonly failure: SourceFailure | undefined
}

/** A row of `source_state`: each source has at most one of each aspect. */
interface Aspect extends SourceFailure {
  readonly source: string
  readonly aspect: 'pause' | 'poll'
  readonly active: boolean
}

const codec = createCodec<Aspect>({
  source: plain(),
  aspect: plain(),
  active: plain(),
  failures: plain(),
  code: plain(),
  detail: plain(),
  since: dateTime,
  retryAt: dateTime,
})

/** The sources that are paused or fail. */
export async function readSources(store: Store): Promise<ReadonlyMap<string, SourceState>> {
  const rows = await store.rows<Row>({ sql: sql`SELECT * FROM source_state FINAL WHERE active` })
  const states = new Map<string, SourceState>()
  for (const { source, aspect, active: _, ...failure } of rows.map(codec.fromRow)) {
    const state = states.get(source) ?? { pausedAt: undefined, failure: undefined }
    const change = aspect === 'pause' ? { pausedAt: failure.since } : { failure }
    states.set(source, { ...state, ...change })
  }
  return states
}

const noFailure: SourceFailure = {
  failures: 0,
  code: '',
  detail: '',
  since: new Date(0),
  retryAt: new Date(0),
}

/** Pauses or resumes a source: while it is paused, no worker takes new files from it. */
export function recordPause(store: Store, source: string, { active, at }: Change): Promise<void> {
  return record(store, { ...noFailure, source, aspect: 'pause', since: at, active })
}

export interface Change {
  readonly active: boolean
  readonly at: Date
}

/** Records the failures of a source; undefined when it responds again. */
export function recordFailure(
  store: Store,
  source: string,
  failure: SourceFailure | undefined,
): Promise<void> {
  const active = failure !== undefined
  return record(store, { ...(failure ?? noFailure), source, aspect: 'poll', active })
}

function record(store: Store, aspect: Aspect): Promise<void> {
  return store.insert('source_state', [codec.toRow(aspect)])
}

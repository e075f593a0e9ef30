import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, plain, type Row } from '../store/columns.js'
import { insertLatest } from '../store/latest.js'
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
  /** What is not loaded because it is not a file, as a sentence. */
  readonly others: string
}

/** A row of `source_state`: each source has at most one of each aspect. */
interface Aspect extends SourceFailure {
  readonly source: string
  readonly aspect: 'pause' | 'poll' | 'others'
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

const blank: SourceState = { pausedAt: undefined, failure: undefined, others: '' }

/** The sources that are paused, fail, or have entries that are not loaded. */
export async function readSources(store: Store): Promise<ReadonlyMap<string, SourceState>> {
  const rows = await store.rows<Row>({ sql: sql`SELECT * FROM source_state FINAL WHERE active` })
  const states = new Map<string, SourceState>()
  for (const { source, aspect, active: _, ...failure } of rows.map(codec.fromRow)) {
    const state = states.get(source) ?? blank
    if (aspect === 'pause') states.set(source, { ...state, pausedAt: failure.since })
    else if (aspect === 'others') states.set(source, { ...state, others: failure.detail })
    else states.set(source, { ...state, failure })
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

/** Records what a source has that is not a file; an empty sentence if nothing is left. */
export function recordOthers(
  store: Store,
  source: string,
  { others, at }: { readonly others: string; readonly at: Date },
): Promise<void> {
  const active = others !== ''
  return record(store, {
    ...noFailure,
    source,
    aspect: 'others',
    active,
    detail: others,
    since: at,
  })
}

function record(store: Store, aspect: Aspect): Promise<void> {
  return insertLatest(store, 'source_state', [codec.toRow(aspect)])
}

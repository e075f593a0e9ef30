import type { Store } from '../store/clickhouse.js'

/** Failures in a row of listing a source. */
export interface SourceFailure {
  readonly failures: number
  readonly code: string
  readonly detail: string
  readonly since: Date
  readonly retryAt: Date
}

export interface SourceState {
  /** When an operator paused it; undefined where nobody did. */
  readonly pausedAt: Date | undefined
  readonly failure: SourceFailure | undefined
}

interface Row {
  readonly source: string
  readonly aspect: 'pause' | 'poll'
  readonly failures: number
  readonly code: string
  readonly detail: string
  readonly since: string
  readonly retry_at: string
}

/** What holds of the sources of which something is known: those that are paused or fail. */
export async function readSources(store: Store): Promise<ReadonlyMap<string, SourceState>> {
  const rows = await store.rows<Row>({ sql: 'SELECT * FROM source_state FINAL WHERE active' })
  const names = new Set(rows.map((row) => row.source))
  return new Map(
    [...names].map((name) => [name, toState(rows.filter((row) => row.source === name))]),
  )
}

/** An operator's word: nothing new is taken from a paused source, on any machine. */
export function recordPause(store: Store, source: string, change: Change): Promise<void> {
  return record(store, { source, aspect: 'pause', since: change.at, active: change.active })
}

export interface Change {
  readonly active: boolean
  readonly at: Date
}

/** The failures of a source; undefined when it answers again. */
export function recordFailure(
  store: Store,
  source: string,
  failure: SourceFailure | undefined,
): Promise<void> {
  const { retryAt, ...more } = failure ?? { since: new Date(0), retryAt: new Date(0) }
  const active = failure !== undefined
  return record(store, { source, aspect: 'poll', active, ...more, retry_at: retryAt })
}

async function record(store: Store, row: Readonly<Record<string, unknown>>): Promise<void> {
  const toText = (value: unknown) => (value instanceof Date ? value.toISOString() : value)
  const values = Object.entries(row).map(([name, value]) => [name, toText(value)])
  await store.insert('source_state', [Object.fromEntries(values)])
}

function toState(rows: readonly Row[]): SourceState {
  const instant = (text: string) => new Date(`${text.replace(' ', 'T')}Z`)
  const pause = rows.find((row) => row.aspect === 'pause')
  const poll = rows.find((row) => row.aspect === 'poll')
  return {
    pausedAt: pause && instant(pause.since),
    failure: poll && {
      failures: poll.failures,
      code: poll.code,
      detail: poll.detail,
      since: instant(poll.since),
      retryAt: instant(poll.retry_at),
    },
  }
}

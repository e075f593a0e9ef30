import type { Store } from '../store/clickhouse.js'
import { sql } from '../store/sql.js'
import { type Actor, recordAct } from './audit.js'

/** A problem that a person can dismiss: what it is about, and since when it occurs. */
export interface Occurrence {
  /** Kind and object, such as `source:mdm`. */
  readonly key: string
  readonly since: Date
}

/** A quarantined file is a problem once; anything else may occur again, at another time. */
function subjectOf({ key, since }: Occurrence): string {
  if (key.startsWith('quarantined:')) return key
  return `${key} since ${since.toISOString().slice(0, 19)}Z`
}

/** Dismisses a problem. The entry of the audit log is the dismissal. */
export async function dismiss(
  store: Store,
  actor: Actor,
  { because, ...occurrence }: Occurrence & { readonly because: string },
): Promise<void> {
  await recordAct(store, actor, {
    act: 'dismiss',
    subject: subjectOf(occurrence),
    detail: because,
  })
}

/** Whether an occurrence of a problem was dismissed. */
export type IsDismissed = (occurrence: Occurrence) => boolean

export async function readDismissed(store: Store): Promise<IsDismissed> {
  const rows = await store.rows<{ subject: string }>({
    sql: sql`SELECT DISTINCT subject FROM audit_log WHERE act = 'dismiss'`,
  })
  const subjects = new Set(rows.map(({ subject }) => subject))
  return (occurrence) => subjects.has(subjectOf(occurrence))
}

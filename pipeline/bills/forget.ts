import { randomBytes } from 'node:crypto'
import { batchesOf } from '../store/batches.js'
import type { Store } from '../store/clickhouse.js'
import { id, sql, typed } from '../store/sql.js'
import { onOneServer, onServerOf } from '../whole.js'

/** A run without a row after a day has crashed. */
const hours = 24

/** Runs that one statement names: its parameters go into a URL of 4 kB. */
const runsMax = 100

/** In the order of their deletion. */
const forgotten = ['bill_variance_row', 'bill_row', 'bill_plan', 'bill_run_row'] as const

/**
 * Deletes the bills of replaced runs except for the latest few, and what crashed runs left. Parts are
 * rewritten, so that nothing of an account stays hidden on the disk; a replica that is away does it when
 * it is back. The row of a run is deleted last, so that an interrupted deletion is resumed. Publications
 * are never deleted: the next number follows them.
 */
export async function forgetRuns(
  store: Store,
  { runsKept, now }: { readonly runsKept: number; readonly now: Date },
): Promise<void> {
  const before = new Date(now.getTime() - hours * 3_600_000).toISOString().replace(/\D/g, '')
  const table = `bill_forgotten_${before}_${randomBytes(4).toString('hex')}`
  // A server that lags may have the bills of a run and not its publication.
  const rows = await onOneServer(store, { table, tables: ['publication', ...forgotten] }, () =>
    store.rows<{ run: string }>({
      sql: sql`SELECT run FROM bill_run
      QUALIFY row_number() OVER (PARTITION BY billing_cycle_id, start_date, as_of IS NULL ORDER BY run DESC) > ${typed('UInt32', runsKept)}
      UNION DISTINCT
      SELECT DISTINCT run FROM (
        SELECT run FROM bill_plan UNION ALL SELECT run FROM bill_row UNION ALL SELECT run FROM bill_run_row)
      WHERE run < ${before} AND run NOT IN (SELECT run FROM bill_run) AND ${onServerOf(table)}`,
    }),
  )
  for (const batch of batchesOf(rows, runsMax)) {
    await forget(
      store,
      batch.map(({ run }) => run),
    )
  }
}

async function forget(store: Store, runs: readonly string[]): Promise<void> {
  for (const table of forgotten) {
    await store.command({
      sql: sql`ALTER TABLE ${id(table)} DELETE WHERE run IN ${runs}`,
      settings: { mutations_sync: 1 },
    })
  }
}

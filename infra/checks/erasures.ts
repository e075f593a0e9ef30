import { machinesBehind } from '../../pipeline/machine.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import type { Context } from '../commands/context.js'
import { withStore } from '../stack/connections.js'
import { attachedTo, type Check, type CheckResult, good, notAttached, warning } from './check.js'

/** Checks that erased accounts are gone on every replica and every disk. */
export const erasureChecks: readonly Check[] = [
  { name: 'erasures', look: erasures },
  { name: 'machines', look: machines },
]

async function machines(context: Context): Promise<CheckResult> {
  const attached = attachedTo(context)
  return attached === undefined ? notAttached : withStore(attached.store, judgeMachines)
}

/** A machine that is away keeps on its disk what was erased or removed by age since. */
export async function judgeMachines(store: Store): Promise<CheckResult> {
  const behind = await machinesBehind(store)
  if (behind.length === 0) return good('each has reported in the last minute')
  const lines = behind.map(({ machine, host, seenAt, rejectsFiles }) => {
    const files =
      Number(rejectsFiles) > 0 ? `; rejects files with erased rows: ${rejectsFiles}` : ''
    return `${machine} (${host}) was last seen at ${seenAt} UTC${files}`
  })
  return warning(
    lines.join('\n'),
    'start its worker, which cleans its data folder; if the disk is destroyed, run tieline forget-machine ID',
  )
}

async function erasures(context: Context): Promise<CheckResult> {
  const attached = attachedTo(context)
  return attached === undefined ? notAttached : withStore(attached.store, judgeErasures)
}

/** Erasures stay in this state until every replica has deleted the rows. */
export async function judgeErasures(store: Store): Promise<CheckResult> {
  const [open] = await store.rows<{ accounts: string; since: string }>({
    sql: sql`SELECT uniqExact(account_number) AS accounts, toString(toDateTime(min(erased_at), 'UTC')) AS since
      FROM erasure FINAL WHERE rank = 2 HAVING accounts > 0`,
  })
  if (open === undefined) return good('none is unfinished')
  const since = `${open.accounts}, since ${open.since} UTC`
  const [replicated] = await store.rows({
    sql: sql`SELECT 1 FROM system.replicas WHERE database = currentDatabase() LIMIT 1`,
  })
  if (replicated === undefined) {
    return warning(
      `accounts whose erasure is not finished: ${since}`,
      'the run of each hour goes on with it',
    )
  }
  const inactive = await store.rows<{ replica: string }>({
    sql: sql`SELECT DISTINCT arrayJoin(mapKeys(mapFilter((name, active) -> active = 0, replica_is_active))) AS replica
      FROM system.replicas WHERE database = currentDatabase() ORDER BY replica`,
  })
  const names = inactive.map(({ replica }) => replica).join(', ')
  return warning(
    `accounts that are erased but not yet on every replica: ${since}\ninactive replicas: ${names || 'none'}`,
    'start the replica or let it catch up, see system.replication_queue there; the run of each hour looks again',
  )
}

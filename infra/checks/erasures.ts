import { dueErasures } from '../../pipeline/customers/erasure/due.js'
import { machinesBehind } from '../../pipeline/machine.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createZone, dayAt } from '../../schemas/time/zone.js'
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
  if (attached === undefined) return notAttached
  return withStore(attached.store, (store) => judgeErasures(store, attached.run.profile))
}

type Terminating = Pick<Profile, 'timeZone' | 'termination'>

/**
 * Erasures that should have begun in an earlier night, those that wait for files at their start, and
 * those that replicas have not carried out.
 */
export async function judgeErasures(
  store: Store,
  profile: Terminating,
  now = new Date(),
): Promise<CheckResult> {
  const open = await store.rows<{ rank: number; accounts: string; since: string }>({
    sql: sql`SELECT rank, uniqExact(account_number) AS accounts,
        toString(toDateTime(min(if(rank = 1, started_at, assumeNotNull(erased_at))), 'UTC')) AS since
      FROM erasure FINAL WHERE rank < 3 GROUP BY rank ORDER BY rank`,
  })
  const found = await judgeOverdue(store, profile, now)
  for (const { rank, accounts, since } of open) {
    const count = `${accounts}, since ${since} UTC`
    found.push(rank === 1 ? judgeStarted(count) : await judgeErased(store, count))
  }
  if (found.length === 0) return good('none is unfinished')
  const details = found.map(({ detail }) => detail).join('\n')
  return warning(details, found.map(({ todo }) => todo).join('; '))
}

const overdueMax = 1_000

/** The night after the days of grace has passed, and nothing has begun. */
async function judgeOverdue(
  store: Store,
  { timeZone, termination }: Terminating,
  now: Date,
): Promise<CheckResult[]> {
  const today = dayAt(createZone(timeZone), now)
  const graceDays = termination.graceDays + 1
  const due = await dueErasures(store, { today, graceDays, accountsMax: overdueMax })
  if (due.length === 0) return []
  const count = due.length === overdueMax ? `${overdueMax} or more` : due.length
  return [
    warning(
      `terminated accounts whose erasure is overdue and has not begun: ${count}`,
      'see worker.log for the failure of the job retain, which runs at 4:00',
    ),
  ]
}

/** Rows of these accounts are still stored. */
function judgeStarted(count: string): CheckResult {
  return warning(
    `accounts whose erasure is started and waits for files: ${count}`,
    'see tieline status for files that are not finished; the run of each hour looks again',
  )
}

async function judgeErased(store: Store, count: string): Promise<CheckResult> {
  const [replicated] = await store.rows({
    sql: sql`SELECT 1 FROM system.replicas WHERE database = currentDatabase() LIMIT 1`,
  })
  if (replicated === undefined) {
    return warning(
      `accounts whose erasure is not finished: ${count}`,
      'the run of each hour goes on with it',
    )
  }
  const inactive = await store.rows<{ replica: string }>({
    sql: sql`SELECT DISTINCT arrayJoin(mapKeys(mapFilter((name, active) -> active = 0, replica_is_active))) AS replica
      FROM system.replicas WHERE database = currentDatabase() ORDER BY replica`,
  })
  const names = inactive.map(({ replica }) => replica).join(', ')
  return warning(
    `accounts that are erased but not yet on every replica: ${count}\ninactive replicas: ${names || 'none'}`,
    'start the replica or let it catch up, see system.replication_queue there; the run of each hour looks again',
  )
}

import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Context } from '../commands/context.js'
import { withStore } from '../stack/connections.js'
import {
  attachedTo,
  type Check,
  type CheckResult,
  good,
  notAttached,
  skipped,
  warning,
} from './check.js'

/** Checks what the profile says of the rates that are in force. */
export const rateChecks: readonly Check[] = [{ name: 'untaxed', look: untaxed }]

async function untaxed(context: Context): Promise<CheckResult> {
  const attached = attachedTo(context)
  if (attached === undefined) return notAttached
  return withStore(attached.store, (store) => judgeUntaxed(store, attached.run.profile))
}

/** A name that no rate has leaves its component taxed, and no bill shows that. */
export async function judgeUntaxed(
  store: Store,
  { billing }: Pick<Profile, 'billing'>,
): Promise<CheckResult> {
  if (billing.untaxed.length === 0) return skipped('the profile has no billing.untaxed')
  const rows = await store.rows<{ component: string }>({
    sql: sql`SELECT DISTINCT component FROM (
        SELECT component FROM rate_flat UNION ALL SELECT component FROM rate_tier UNION ALL SELECT component FROM rate_tou)
      ORDER BY component`,
  })
  if (rows.length === 0) return skipped('no rates are loaded')
  const known = rows.map(({ component }) => component)
  const unknown = billing.untaxed.filter((name) => !known.includes(name))
  if (unknown.length === 0) return good(`rates have ${billing.untaxed.join(', ')}`)
  return warning(
    `billing.untaxed names components that no rate has: ${unknown.join(', ')}`,
    `correct the names in the profile, then run tieline bill; the rates have ${known.join(', ')}`,
  )
}

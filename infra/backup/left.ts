import { endClients } from '../../pipeline/customers/registrations.js'
import { batchesOf } from '../../pipeline/store/batches.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'

/** Clients who were unregistered and have not registered again. */
export async function readLeft(store: Store): Promise<readonly string[]> {
  const rows = await store.rows<{ client_id: string }>({
    sql: sql`SELECT client_id FROM registration_fact GROUP BY client_id HAVING argMax(kind, at) = 'left'`,
  })
  return rows.map((row) => row.client_id)
}

/** Clients of one statement. */
const clientsMax = 1_000

/** Unregisters clients in a restored store; returns how many of them were registered in it. */
export async function replayLeft(
  { store, profile }: { readonly store: Store; readonly profile: Profile },
  clientIds: readonly string[],
): Promise<number> {
  const context = { store, profile, zone: createZone(profile.timeZone), now: () => new Date() }
  let ended = 0
  for (const some of batchesOf(clientIds, clientsMax)) {
    ended += await endClients(context, some, 'left')
  }
  return ended
}

import { endClients } from '../../pipeline/customers/registrations.js'
import { batchesOf } from '../../pipeline/store/batches.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'

/** How a client ends: he was unregistered, or the utility closed his account. */
type Ending = 'left' | 'closed'

/** Clients by how they ended, who have not registered again. */
export type EndedClients = Readonly<Record<Ending, readonly string[]>>

export async function readEnded(store: Store): Promise<EndedClients> {
  const rows = await store.rows<{ client_id: string; ending: Ending }>({
    sql: sql`SELECT client_id, argMax(kind, at) AS ending FROM registration_fact
      GROUP BY client_id HAVING ending IN ('left', 'closed')`,
  })
  const by = (wanted: Ending) =>
    rows.filter(({ ending }) => ending === wanted).map((row) => row.client_id)
  return { left: by('left'), closed: by('closed') }
}

/** Clients of one statement. */
const clientsMax = 1_000

/** Ends clients in a restored store; returns how many of each kind were registered in it. */
export async function replayEnded(
  { store, profile }: { readonly store: Store; readonly profile: Profile },
  clients: EndedClients,
): Promise<Readonly<Record<Ending, number>>> {
  const context = { store, profile, zone: createZone(profile.timeZone), now: () => new Date() }
  const ended = { left: 0, closed: 0 }
  for (const kind of ['left', 'closed'] as const) {
    for (const some of batchesOf(clients[kind], clientsMax)) {
      ended[kind] += await endClients(context, some, kind)
    }
  }
  return ended
}

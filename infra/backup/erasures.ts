import type { PipelineContext } from '../../pipeline/context.js'
import { pending } from '../../pipeline/customers/erasure/erasure.js'
import { claimHeld } from '../../pipeline/customers/registrations.js'
import { createLedger } from '../../pipeline/ledger/ledger.js'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import { eraseStarted } from '../../pipeline/steps/erase.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'
import type { Home } from '../stack/home.js'
import type { Log } from '../telemetry/log.js'

/** A tombstone as the table has it. */
type Tombstone = Readonly<Record<string, unknown>> & {
  readonly account_number: string
  readonly meter_id: string
  readonly external_site_id: string
}

export function readTombstones(store: Store): Promise<readonly Tombstone[]> {
  return store.rows<Tombstone>({ sql: sql`SELECT * FROM erasure FINAL` })
}

export interface Replaying {
  readonly store: Store
  readonly home: Home
  readonly profile: Profile
  readonly log: Log
}

/**
 * Erases in a restored store what was erased since its backup was taken, also where the backup has the
 * erasure begun. Returns the number of erasures, and of those that wait for files in progress.
 */
export async function replayErasures(
  { store, home, profile, log }: Replaying,
  tombstones: readonly Tombstone[],
): Promise<{ readonly replayed: number; readonly open: number }> {
  const keyOf = (one: Tombstone) =>
    JSON.stringify([one.account_number, one.meter_id, one.external_site_id])
  const known = new Set((await readTombstones(store)).map(keyOf))
  const missing = tombstones.filter((one) => !known.has(keyOf(one)))
  const now = () => new Date()
  const started = { rank: 1, counts: {}, erased_at: null, started_at: now().toISOString() }
  if (missing.length > 0) {
    await store.insert(
      'erasure',
      missing.map((one) => ({ ...one, ...started })),
    )
  }
  const begun = await countStarted(store)
  const context: PipelineContext = {
    profile,
    zone: createZone(profile.timeZone),
    folders: home,
    machine: home.machine,
    store,
    ledger: createLedger(store, now),
    queues: { add: async () => undefined } as unknown as Queues,
    sources: new Map(),
    storeLanding: undefined,
    mdm: undefined,
    now,
    log,
    notify: () => undefined,
  }
  // An erasure waits for held reads that were asked for, and no worker stores them here.
  await claimHeld(context)
  await eraseStarted(context)
  const open = await countStarted(store)
  return { replayed: begun - open, open }
}

async function countStarted(store: Store): Promise<number> {
  const [row] = await store.rows<{ started: string }>({
    sql: sql`SELECT toString(count()) AS started FROM ${pending}`,
  })
  return Number(row?.started)
}

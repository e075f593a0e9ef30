import { Fault } from '../../schemas/fault.js'
import { createZone } from '../../schemas/time/zone.js'
import { topologyOf } from '../schema/cluster.js'
import { migrate } from '../schema/migrate.js'
import { testEngine } from '../schema/self-test.js'
import { testSettings } from '../schema/settings-test.js'
import { testZone } from '../schema/zone-test.js'
import { externalStore } from '../stack/addresses.js'
import { withStore } from '../stack/connections.js'
import { readOwnProfile } from '../stack/profile-file.js'
import { type Context, exitCodes } from './context.js'

export interface MigrateWish {
  /** Instead of the one in the profile. */
  readonly cluster?: string
}

/** Applies pending migrations, as each start does, and prints their names. */
export async function migrateStore(context: Context, options: MigrateWish): Promise<number> {
  const profile = readOwnProfile(context.profilePath, context.homePath)
  const { cluster = profile.store.cluster } = options
  const addresses = externalStore(context.external, profile.database)
  if (addresses === undefined) {
    throw new Fault(
      'CONFIG',
      'CLICKHOUSE_URL is not set; the embedded engine is migrated by its start',
    )
  }
  await withStore({ ...addresses.store, database: 'default' }, testSettings)
  await withStore(addresses.store, async (store) => {
    const names = await migrate(store, profile, { topology: topologyOf(cluster) })
    await testEngine(store)
    await testZone(store, createZone(profile.timeZone))
    for (const name of names) context.print(name)
    if (names.length === 0) context.say(`${profile.database} is up to date`)
  })
  return exitCodes.good
}

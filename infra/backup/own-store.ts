import { createStore, type Store } from '../../pipeline/store/clickhouse.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createClickHouse, engineMemoryBytesMax } from '../clickhouse/start.js'
import { embeddedStore, readerUser, writerUser } from '../stack/addresses.js'
import type { Home } from '../stack/home.js'

/**
 * Runs `use` with the embedded engine of a data folder and nothing else: no worker writes, and nobody
 * reads. The caller has claimed the folder.
 */
export async function withOwnStore<T>(
  home: Home,
  { database }: Pick<Profile, 'database'>,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const engine = await createClickHouse({
    dataPath: home.clickhouse,
    port: 0,
    writer: { user: writerUser, password: home.secrets.writer },
    reader: { user: readerUser, password: home.secrets.reader },
    memoryBytesMax: engineMemoryBytesMax(),
  })
  const store = createStore(embeddedStore(home, engine.url, database).store, 'discreet')
  try {
    return await use(store)
  } finally {
    await store.close()
    await engine.close()
  }
}

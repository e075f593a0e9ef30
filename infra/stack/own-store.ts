import { createStore, type Store } from '../../pipeline/store/clickhouse.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createClickHouse, engineMemoryBytesMax } from '../clickhouse/start.js'
import { embeddedStore, readerUser, writerUser } from './addresses.js'
import type { Home } from './home.js'

export interface OwnStoreOptions extends Pick<Profile, 'database'> {
  /** Removed with all data when the engine ends, also when this process is killed. */
  readonly temporaryPath?: string
  /** Ends the engine. */
  readonly ending?: AbortSignal
}

/**
 * Runs `use` with the embedded engine of a data folder and nothing else: no worker writes, and nobody
 * reads. The caller has claimed the folder.
 */
export async function withOwnStore<T>(
  home: Home,
  { database, temporaryPath, ending }: OwnStoreOptions,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const engine = await createClickHouse({
    dataPath: home.clickhouse,
    port: 0,
    writer: { user: writerUser, password: home.secrets.writer },
    reader: { user: readerUser, password: home.secrets.reader },
    memoryBytesMax: engineMemoryBytesMax(),
    ...(temporaryPath !== undefined && { temporaryPath }),
  })
  const end = () => void engine.close()
  ending?.addEventListener('abort', end, { once: true })
  const store = createStore(embeddedStore(home, engine.url, database).store, 'discreet')
  try {
    ending?.throwIfAborted()
    return await use(store)
  } finally {
    ending?.removeEventListener('abort', end)
    await store.close()
    await engine.close()
  }
}

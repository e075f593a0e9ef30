import { createQueues, type Queues } from '../../pipeline/queues/bullmq.js'
import { createStore, type Store, type StoreAddress } from '../../pipeline/store/clickhouse.js'
import { createCatchUp } from '../../pipeline/store/replicas.js'
import type { Profile } from '../../schemas/settings/profile.js'

/** Runs `use` with a store that is closed afterwards. */
export async function withStore<T>(
  address: StoreAddress,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  const store = createStore(address)
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** The same once a replica that lags has everything, for what is counted or computed from what is stored. */
export function withWholeStore<T>(
  address: StoreAddress,
  use: (store: Store) => Promise<T>,
): Promise<T> {
  return withStore(address, async (store) => {
    await createCatchUp(store)()
    return use(store)
  })
}

/** Runs `use` with the queues of a profile, which are closed afterwards. */
export async function withQueues<T>(
  { redisUrl, profile }: { readonly redisUrl: string; readonly profile: Profile },
  use: (queues: Queues) => Promise<T>,
): Promise<T> {
  const queues = createQueues({ redisUrl, prefix: profile.database })
  try {
    return await use(queues)
  } finally {
    await queues.close()
  }
}

import type { Store } from '../../../pipeline/store/clickhouse.js'

/** A store that dies at a random write, before or after it is carried out. */
function dyingStore(store: Store, random: () => number): Store {
  const left = Math.floor(random() * 8)
  let writes = 0
  const dies = async <T>(write: () => Promise<T>): Promise<T> => {
    if (writes > left) throw new Error('killed')
    const isLast = writes++ === left
    if (isLast && random() < 0.5) throw new Error('killed')
    const done = await write()
    if (isLast) throw new Error('killed')
    return done
  }
  return {
    ...store,
    insert: (...of) => dies(() => store.insert(...of)),
    command: (...of) => dies(() => store.command(...of)),
  }
}

/** Repeats a step until no kill cuts it short, as jobs are repeated. */
export async function repeatUntilDone(
  { store, random }: { readonly store: Store; readonly random: () => number },
  step: (store: Store) => Promise<unknown>,
): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      await step(random() < 0.7 ? dyingStore(store, random) : store)
      return
    } catch (error) {
      if (!String(error).includes('killed')) throw error
    }
  }
  await step(store)
}

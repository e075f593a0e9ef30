import type { Store } from '../../pipeline/store/clickhouse.js'
import { statementText } from '../rig/statements/statement-text.js'

/** Runs a write, or does something else; `text` is its statement, or `INSERT INTO` and the table. */
type AroundWrite = <T>(write: () => Promise<T>, text: string) => Promise<T>

/** The store, each write of which goes through `around`. */
export function aroundWrites(store: Store, around: AroundWrite): Store {
  return {
    ...store,
    command: (statement, body) =>
      around(() => store.command(statement, body), statementText(statement)),
    insert: (table, ...rest) => around(() => store.insert(table, ...rest), `INSERT INTO ${table}`),
  }
}

interface Death {
  /** The number of the write, from 1 on. */
  readonly at: number
  /** Whether that write is carried out. */
  readonly when: 'before' | 'behind'
}

/** The store of a process that dies at a write; nothing more is read or written by it. */
export function dyingStore(
  store: Store,
  { at, when }: Death,
): { readonly mortal: Store; readonly died: () => boolean } {
  const killed = new Error('killed')
  let written = 0
  const died = () => written >= at
  const mortal = aroundWrites(store, async (write) => {
    written++
    if (written > at || (written === at && when === 'before')) throw killed
    const result = await write()
    if (written >= at) throw killed
    return result
  })
  const rows: Store['rows'] = (of) => (died() ? Promise.reject(killed) : store.rows(of))
  return { mortal: { ...mortal, rows }, died }
}

/** Repeats a step until no kill at a random write cuts it short, as jobs are repeated. */
export async function repeatUntilDone(
  { store, random }: { readonly store: Store; readonly random: () => number },
  step: (store: Store) => Promise<unknown>,
): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const at = 1 + Math.floor(random() * 8)
    const when = random() < 0.5 ? 'before' : 'behind'
    try {
      await step(random() < 0.7 ? dyingStore(store, { at, when }).mortal : store)
      return
    } catch (error) {
      if (!String(error).includes('killed')) throw error
    }
  }
  await step(store)
}

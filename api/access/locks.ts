import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { createCatchUp } from '../../pipeline/store/replicas.js'
import { sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'

export interface LocksOptions {
  readonly store: Store
  /** How often the store is read; locks and unlocks elsewhere take effect after that, on any replica. */
  readonly everyMs: number
  readonly onFailure: (fault: Fault) => void
}

/** The locked customers of the store, in memory. */
export interface Locks {
  /** Throws `STORE_UNREACHABLE` while the locks have not been read once. */
  has(clientId: string): boolean
  /** For a lock that is already durable. */
  add(clientId: string): void
  ready(): Promise<void>
  close(): Promise<void>
}

/** Locks are few and logins many, so a login never waits for the store. */
export function createLocks({ store, everyMs, onFailure }: LocksOptions): Locks {
  const closing = new AbortController()
  let locked: ReadonlySet<string> | undefined
  const added = new Set<string>()
  const catchUp = createCatchUp(store, ['login_attempt', 'login_unlock'])
  const read = async (): Promise<void> => {
    const addedBefore = [...added]
    await catchUp()
    const rows = await store.rows<{ client_id: string }>({
      sql: sql`SELECT client_id FROM login_lock`,
    })
    locked = new Set(rows.map(({ client_id }) => client_id))
    for (const clientId of addedBefore) added.delete(clientId)
  }
  const keepReading = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      await read().catch((error: unknown) => {
        if (!(error instanceof Fault)) throw error
        onFailure(error)
      })
      await sleep(everyMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
  }
  const kept = keepReading()
  return {
    has: (clientId) => {
      if (locked === undefined) {
        throw new Fault('STORE_UNREACHABLE', 'the locks of customers have not been read yet')
      }
      return locked.has(clientId) || added.has(clientId)
    },
    add: (clientId) => void added.add(clientId),
    ready: async () => {
      if (locked === undefined) await read()
    },
    close: async () => {
      closing.abort()
      await kept
    },
  }
}

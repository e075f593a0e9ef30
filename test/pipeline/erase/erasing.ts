import { learnAccounts, register } from '../../../pipeline/customers/registrations.js'
import type { LineByHand } from '../by-hand.js'
import {
  type At,
  customerAt,
  markReads,
  publishFile,
  type ReadAt,
  registeringAt,
  toReadRows,
  withoutStaging,
} from '../customers/registering.js'

export interface Termination {
  readonly account_number: string
  readonly external_site_id?: string
  readonly meter_id?: string
  /** 2024-06-30 where it does not matter. */
  readonly termination_date?: string
}

const settled = () => ({ settled_at: new Date().toISOString() })

/** What comes before an erasure: customers, reads, and terminations whose days of grace are over. */
export function createErasing({ context, arrive }: Pick<LineByHand, 'context' | 'arrive'>) {
  const { store } = context
  return {
    known: (...customers: readonly At[]) =>
      register(registeringAt(store), customers.map(customerAt)),
    find: <T = object>(sql: string) => store.rows<T>({ sql }),
    terminate: async (...rows: readonly Termination[]): Promise<void> => {
      const { arrival } = await arrive('DEMO_06062024_Terminations.csv', [])
      const version = (at: number) => String(BigInt(arrival) * 2n ** 32n + BigInt(at + 2))
      const terminations = rows.map((row, at) => {
        return { termination_date: '2024-06-30', ...row, version: version(at) }
      })
      await store.insert('termination_row', terminations)
      await publishFile(store, { arrival, feed: 'Terminations', more: settled() })
    },
    load: async (name: string, ...reads: readonly ReadAt[]): Promise<void> => {
      const { arrival } = await arrive(`${name}_Electric.csv`, [])
      await store.insert('usage_read', toReadRows(arrival, reads))
      await markReads(store, arrival)
      await publishFile(store, { arrival, feed: 'Electric', more: settled() })
      await learnAccounts(registeringAt(store), withoutStaging(arrival))
    },
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { draw } from '../../../infra/demo/draw.js'
import { type Lagging, lag, synchronize } from '../../../test/rig/replicas/lag.js'
import { type Replica, type Replicas, replicas } from '../../../test/rig/replicas/start.js'

export interface Lag {
  /** How often a replica was kept behind the other one. */
  count(): number
  /** Ends the lag for good, and waits until both replicas have everything. */
  close(): Promise<void>
}

/** Every table that a file or a customer passes through. */
const tables = [
  ...['arrival', 'file_state', 'chunk_receipt', 'publication', 'usage_read', 'restatement'],
  ...['registration_fact', 'tenancy', 'account_meter', 'audit_log'],
] as const
const kinds = ['fetches', 'replication queues', 'merges'] as const satisfies readonly Lagging[]
const restMsMax = 3_000
const lagMsMax = 1_500

/** Keeps now one replica, now the other one behind, for up to 1.5 s at a time. */
export function createLag({ stores }: Replicas, seed: number): Lag {
  let isOpen = true
  let turns = 0
  const pick = (stream: number, among: number) => draw(seed, 90 + stream, turns) % among
  const run = async () => {
    for (; isOpen; turns++) {
      await sleep(pick(0, restMsMax))
      const store = stores[replicas[pick(1, replicas.length)] as Replica]
      const what = kinds[pick(2, kinds.length)] as Lagging
      const some = tables.filter((_, at) => pick(10 + at, 2) === 0)
      await lag(store, what, { to: 'STOP', tables: some })
      await sleep(pick(3, lagMsMax))
      await lag(store, what, { to: 'START', tables: some })
    }
  }
  const running = run()
  running.catch(() => undefined)
  return {
    count: () => turns,
    close: async () => {
      isOpen = false
      await running
      await Promise.all(replicas.map((replica) => synchronize(stores[replica])))
    },
  }
}

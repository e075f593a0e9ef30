import { pino } from 'pino'
import t from 'tap'
import type { Line } from '../../pipeline/line.js'
import { reconcile } from '../../pipeline/reconcile.js'
import type { Store } from '../../pipeline/stores/clickhouse.js'
import type { FileState } from '../../pipeline/stores/file-state.js'
import { createLedger } from '../../pipeline/stores/ledger.js'
import { Fault } from '../../schemas/fault.js'
import { migratedStore } from './registering.js'

/** A state of the ledger as a file of two rows has it before it is published. */
const rowOf = (arrival: number, status: string) => ({
  arrival,
  rank: 55,
  status,
  feed: 'Electric',
  file_id: `f${arrival}`,
  manifest: '{}',
  notes: '{}',
})

t.test(
  'a file waits for one ahead of it that cannot be published, and is not blamed',
  async (t) => {
    const real = await migratedStore(t)
    let fail: () => never = () => {
      throw new Fault('STORE_REFUSED', 'no right to attach')
    }
    const store: Store = {
      ...real,
      command: async () => fail(),
    }
    const logged: { arrival: number; code?: string }[] = []
    const log = pino({}, { write: (text: string) => void logged.push(JSON.parse(text)) })
    const recorded: FileState[] = []
    const ledger = createLedger(real, () => new Date())
    const keep = async (state: FileState) => void recorded.push(state)
    const line = { store, log, ledger: { ...ledger, record: keep } } as unknown as Line
    const states = [rowOf(1, 'publishing'), rowOf(2, 'publishing'), rowOf(3, 'received')]
    await real.insert('file_state', states)

    await t.rejects(reconcile(line, 3), {
      code: 'FILE_AHEAD',
      retry: true,
      detail: 'arrival 3 waits for arrival 1, 2',
    })
    t.match(logged, [
      { arrival: 1, code: 'STORE_REFUSED' },
      { arrival: 2, code: 'STORE_REFUSED' },
    ])
    await t.rejects(reconcile(line, 1), { code: 'FILE_AHEAD' }, 'its own turn comes after 2')

    fail = () => {
      throw new Error('a bug')
    }
    await t.rejects(reconcile(line, 3), { code: 'FILE_AHEAD' }, 'whatever fails there')
    fail = () => {
      throw new Fault('STORE_UNREACHABLE', 'away')
    }
    await t.rejects(reconcile(line, 3), { code: 'STORE_UNREACHABLE' }, 'an outage is one for both')
    t.same(recorded, [])
  },
)

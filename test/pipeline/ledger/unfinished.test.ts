import t from 'tap'
import { createLedger, type FileEntry, type Ledger } from '../../../pipeline/ledger/ledger.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { migratedStore } from '../customers/registering.js'
import { sampleState } from './sample-state.js'

const store = await migratedStore(t)
const ledger = createLedger(store, () => new Date())

const entry = (name: string): FileEntry => ({
  ...{ source: 'inbox', name, path: `/inbox/${name}`, bytes: 1, modifiedMs: 1 },
  ...{ wholeBy: '', force: false },
})
const textOf = (sql: unknown) => (typeof sql === 'string' ? sql : JSON.stringify(sql))

/** Asks while a file that was just claimed gets its state ahead of one of the two statements. */
async function askWhile(
  table: 'arrival' | 'file_state',
  ask: (own: Ledger, arrival: number) => ReturnType<Ledger['unfinished']>,
): Promise<{ readonly arrival: number; readonly found: readonly number[] }> {
  const [{ arrival } = { arrival: 0 }] = await ledger.claimAll([entry('a'), entry('b')])
  const state = { ...sampleState, arrival, status: 'received', settledAt: undefined } as const
  const rows: Store['rows'] = async (statement) => {
    if (textOf(statement.sql).includes(`SELECT * FROM ${table}`)) await ledger.record(state)
    return store.rows(statement)
  }
  const own = createLedger({ ...store, rows }, () => new Date())
  const { arrivals, states } = await ask(own, arrival)
  return { arrival, found: [...arrivals, ...states].map((one) => one.arrival) }
}

for (const table of ['arrival', 'file_state'] as const) {
  t.test(`a file that gets its state ahead of a look into ${table} is found`, async (t) => {
    const claimed = await askWhile(table, (own, arrival) => own.claimedWith(arrival))
    t.ok(claimed.found.includes(claimed.arrival), 'among those that were claimed with it')
    const named = await askWhile(table, (own, arrival) => own.lookUp([arrival]))
    t.ok(named.found.includes(named.arrival), 'by its number')
    const open = await askWhile(table, (own) => own.unfinished())
    t.ok(open.found.includes(open.arrival), 'among the unfinished')
  })
}

import t from 'tap'
import {
  type AuditEntry,
  followChain,
  recordAct,
  recordActs,
  tieline,
} from '../../../pipeline/ledger/audit.js'
import type { Statement, Store } from '../../../pipeline/store/clickhouse.js'
import { migratedStore } from '../customers/registering.js'

const store = await migratedStore(t)
const ann = { who: 'ann', via: 'page' } as const
const one = (subject: number) =>
  ({ act: 'retry', subject: String(subject), detail: 'why' }) as const

t.test('however many write at once, each entry holds the hash of the one before', async (t) => {
  t.same(await followChain(store), { entries: 0, hash: '' })
  await Promise.all([
    ...Array.from({ length: 8 }, (_, at) => recordAct(store, ann, one(at))),
    recordActs(
      store,
      [100, 101, 102].map((subject) => ({ ...tieline, ...one(subject) })),
    ),
  ])
  const rows = await store.rows<{ number: number; subject: string }>({
    sql: 'SELECT number, subject FROM audit_log ORDER BY number',
  })
  t.same(
    rows.map(({ number }) => number),
    Array.from({ length: 11 }, (_, at) => at + 1),
  )
  t.equal(new Set(rows.map(({ subject }) => subject)).size, 11)
  const first = rows.findIndex(({ subject }) => subject === '100')
  t.same(
    rows.slice(first, first + 3).map(({ subject }) => subject),
    ['100', '101', '102'],
    'acts of one who writes several stand together',
  )
  t.match(await followChain(store), { entries: 11, hash: /^[0-9a-f]{64}$/, broken: undefined })
})

/** The store, in which rows of one number come in the order of their names, or the other way round. */
function inOrderOfName(order: number): Store {
  const compare = (a: AuditEntry, b: AuditEntry) =>
    a.number - b.number || (a.who < b.who ? -order : order)
  return {
    ...store,
    rows: async <T>(statement: Statement) => {
      const rows = [...(await store.rows<T>(statement))]
      return 'who' in Object(rows[0])
        ? ((rows as unknown as AuditEntry[]).sort(compare) as unknown as T[])
        : rows
    },
  }
}

/** What was done to the log by hand, and what the chain says of it. */
const breaches = [
  ["INSERT INTO audit_log (number, who) VALUES (0, 'eve')", 0, /before the first/],
  ["ALTER TABLE audit_log UPDATE who = 'eve' WHERE number = 5", 5, /was changed/],
  ['ALTER TABLE audit_log DELETE WHERE number = 4', 5, /one is missing/],
  ["INSERT INTO audit_log (number, who) VALUES (2, 'eve')", 2, /exists twice/],
] as const

for (const [sql, number, what] of breaches) {
  t.test(`what was done to the log is found: ${sql.slice(0, 40)}`, async (t) => {
    await store.command({ sql, settings: { mutations_sync: 2 } })
    for (const order of [1, -1]) {
      t.match(await followChain(inOrderOfName(order)), { broken: { number, what } })
    }
  })
}

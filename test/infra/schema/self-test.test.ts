import { randomUUID } from 'node:crypto'
import t from 'tap'
import { testEngine } from '../../../infra/schema/self-test.js'
import type { Settings, Statement, Store } from '../../../pipeline/store/clickhouse.js'
import { Fault } from '../../../schemas/fault.js'
import { migratedStore } from '../../pipeline/customers/registering.js'
import { statementText } from '../../rig/statements/statement-text.js'

const store = await migratedStore(t)

t.test('the engine does what loading exactly once rests on, as often as it is tried', async (t) => {
  await testEngine(store)
  await Promise.all([testEngine(store), testEngine(store)])
  const left = "SELECT 1 FROM system.tables WHERE name LIKE 'self_test_%'"
  t.same(await store.rows({ sql: left }), [], 'nothing is left but rows for a day')
})

t.test('a clock that differs from the one of the server breaks no promise', async (t) => {
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() - 3 * 86_400_000 })
  await testEngine(store)
})

const tokenless = (settings: Settings = {}) => {
  return { ...settings, insert_deduplication_token: randomUUID() }
}

/** Servers that do not keep a promise, and what the refusal says. */
const servers: Readonly<Record<string, readonly [Partial<Store>, RegExp]>> = {
  'ignores tokens of inserts': [
    { insert: (table, rows, settings) => store.insert(table, rows, tokenless(settings)) },
    /of two inserts with one token the first is stored; use a version that is known good \(26\.5, 26\.7\)/,
  ],
  'ignores tokens of INSERT SELECT': [
    {
      command: ({ settings, ...statement }, body) =>
        store.command({ ...statement, settings: tokenless(settings) }, body),
    },
    /of two INSERT \.\.\. SELECT with one token the first is stored/,
  ],
  'drops rows that it had before': [
    {
      insert: (table, rows, settings) =>
        store.insert(table, rows, { insert_deduplication_token: 'rows', ...settings }),
    },
    /a row that was deleted is stored when it is inserted again/,
  ],
  'attaches nothing': [
    {
      command: async (statement, body) => {
        if (statementText(statement).includes('ATTACH PARTITION')) return
        await store.command(statement, body)
      },
    },
    /rows of an attached table are read/,
  ],
}

for (const [what, [instead, detail]] of Object.entries(servers)) {
  t.test(`a server that ${what} is refused by what it does`, async (t) => {
    await t.rejects(testEngine({ ...store, ...instead }), { code: 'STORE_REFUSED', detail })
  })
}

const laterSteps = ['UPDATE', 'input(', ...['processes', 'mutations', 'replicas', 'detached_parts']]

for (const right of laterSteps) {
  t.test(
    `a user who may not use ${right} is refused here, and not by the first file`,
    async (t) => {
      const denied = new Fault('STORE_REFUSED', `ACCESS_DENIED: ${right}`)
      const refuse = (statement: Statement): void => {
        if (statementText(statement).includes(right)) throw denied
      }
      const rows: Store['rows'] = async (statement) => {
        refuse(statement)
        return store.rows(statement)
      }
      const command: Store['command'] = async (statement, body) => {
        refuse(statement)
        return store.command(statement, body)
      }
      await t.rejects(testEngine({ ...store, rows, command }), denied)
    },
  )
}

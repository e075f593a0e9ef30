import { t } from 'tap'
import { createClickHouse } from '../../../infra/clickhouse/start.js'
import { migrate, splitStatements } from '../../../infra/schema/migrate.js'
import { onFreePort } from '../../../infra/stack/port.js'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { statementText } from '../../rig/statements/statement-text.js'

const writer = { user: 'writer', password: 'w' }
const profile = parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' })
const names = /^\d{3}-[a-z-]+\.sql$/

const startEngine = (dataPath: string) =>
  onFreePort(18_123, (port) =>
    createClickHouse({
      dataPath,
      port,
      writer,
      reader: { user: 'reader', password: 'r' },
      memoryBytesMax: 1024 ** 3,
    }),
  )

t.test('migrations', async (t) => {
  const engine = await startEngine(createFolder(t))
  t.teardown(engine.close)
  const open = (database: string): Store => {
    const store = createStore({
      url: engine.url,
      username: writer.user,
      password: writer.password,
      database,
    })
    t.teardown(store.close)
    return store
  }
  const tablesOf = async (store: Store) =>
    store.rows({
      sql: `SELECT name, create_table_query FROM system.tables
WHERE database = currentDatabase() ORDER BY name`,
    })

  t.test('a database is created once and recognised afterwards', async (t) => {
    const store = open('once')
    const applied = await migrate(store, profile)
    t.ok(applied.length >= 8)
    for (const name of applied) t.match(name, names)
    const tables = await tablesOf(store)
    t.same(await migrate(store, profile), [], 'nothing is pending')
    t.same(await tablesOf(store), tables)
  })

  t.test('a run that fails after each statement is completed by the next', async (t) => {
    const whole = open('whole')
    await migrate(whole, profile)
    const broken = open('broken')
    const tried = new Set<string>()
    const breaking: Store = {
      ...broken,
      command: async (statement) => {
        await broken.command(statement)
        if (tried.has(statementText(statement))) return
        tried.add(statementText(statement))
        throw new Error('power cut')
      },
    }
    let breaks = 0
    for (; !(await migrate(breaking, profile).catch(() => undefined)); breaks++);
    t.ok(breaks > 50, `${breaks} breaks`)
    const named = (await tablesOf(whole)).map((table) =>
      JSON.parse(JSON.stringify(table).replaceAll('whole.', 'broken.')),
    )
    t.same(await tablesOf(broken), named)
  })

  t.test(
    'a database of another version is refused with the migration and what to do',
    async (t) => {
      const store = open('changed')
      const [first] = await migrate(store, profile)
      await store.insert('changed.schema_migration', [
        { name: first, hash: 'other', rendered_hash: 'other', time_zone: profile.timeZone },
      ])
      await t.rejects(migrate(store, profile), {
        code: 'STORE_REFUSED',
        message: new RegExp(
          `database changed was .* version .* ${first}; start that version again, or`,
        ),
      })
    },
  )

  t.test('a database keeps the time zone that it was created with', async (t) => {
    const store = open('zone')
    await migrate(store, profile)
    await t.rejects(migrate(store, { ...profile, timeZone: 'America/Chicago' }), {
      code: 'CONFIG',
      message: /America\/Detroit.*America\/Chicago/,
    })
  })

  t.test("a change of the profile's units reaches the views", async (t) => {
    const store = open('units')
    const applied = await migrate(store, profile)
    const unit = { Electric: 'Wh', Gas: 'cm' } as const
    const changed = await migrate(store, { ...profile, usage: { ...profile.usage, unit } })
    t.match(changed[0], /customers/)
    const later = applied.slice(applied.indexOf(String(changed[0])))
    t.same(changed, later, 'later migrations are applied again: they may change the same view')
    const [view] = await store.rows<{ text: string }>({
      sql: "SELECT create_table_query AS text FROM system.tables WHERE database = 'units' AND name = 'usage'",
    })
    t.match(view?.text, /'cm'/)
  })

  t.test('an invalid database name is refused before it reaches the server', async (t) => {
    const store = open('plain')
    const address = { ...store.address, database: 'a; DROP TABLE b' }
    await t.rejects(migrate({ ...store, address }, profile), { code: 'CONFIG' })
  })
})

t.test('statements end with a semicolon at the line end; comments are dropped', async (t) => {
  const text = "SELECT ';' AS a;  \n\n-- a note;\nSELECT 2\n;\n-- only a note\n"
  t.same(splitStatements(text), ["SELECT ';' AS a", 'SELECT 2'])
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../../infra/package-root.js'
import { renderDictionary } from '../../../../infra/schema/views/dictionary.js'
import { toGrants } from '../../../../infra/schema/views/grants.js'
import { publicNames } from '../../../../infra/schema/views/public-views.js'
import { migratedStore, profile } from '../../../pipeline/customers/registering.js'

const folder = join(packageRoot(import.meta.url), 'infra', 'schema', 'views')
const store = await migratedStore(t)

/** Building blocks of other views; not published. */
const inner = [
  'bill_run_current',
  'change_number',
  'comparison_run_current',
  'file_progress',
  'login_lock',
  'meter_unit',
  'schedule_in_force',
  'tenancy_hint',
  'usage_current',
]

t.test('every view is published or internal, and every published name exists', async (t) => {
  const found = await store.rows<{ name: string; engine: string }>({
    sql: 'SELECT name, engine FROM system.tables WHERE database = currentDatabase() ORDER BY name',
  })
  const views = found.filter(({ engine }) => engine === 'View').map(({ name }) => name)
  t.same(
    views.filter((name) => !publicNames.includes(name)),
    inner,
  )
  const names = found.map(({ name }) => name)
  t.same(
    publicNames.filter((name) => !names.includes(name)),
    [],
  )
})

t.test('every table, view and column has a comment', async (t) => {
  t.same(
    await store.rows({
      sql: `SELECT name FROM system.tables WHERE database = currentDatabase() AND comment = ''`,
    }),
    [],
  )
  t.same(
    await store.rows({
      sql: `SELECT table, name FROM system.columns
        WHERE database = currentDatabase() AND comment = '' AND table != 'usage_current'`,
    }),
    [],
  )
  for (const column of ['published_at', 'published_seq']) {
    const published = await store.rows<{ view: string }>({
      sql: 'SELECT table AS view FROM system.columns WHERE database = currentDatabase() AND name = {column:String}',
      parameters: { column },
    })
    const names = published.map(({ view }) => view)
    t.same(
      publicNames.filter((name) => !names.includes(name)),
      ['usage_as_of'],
      `every view has ${column}; the engine stores no columns for a view with a parameter`,
    )
  }
})

t.test('the dictionary equals the comments in the database', async (t) => {
  const remedy =
    'regenerate it: node dist/infra/main.js --home HOME dictionary > infra/schema/views/dictionary.md, with the home of a demo that has run'
  t.ok(
    readFileSync(join(folder, 'dictionary.md'), 'utf8') === (await renderDictionary(store)),
    remedy,
  )
})

const { database } = profile
const asFormatted = async (statement: string) => {
  const [parsed] = await store.rows<{ text: string }>({
    sql: 'SELECT formatQuerySingleLine({statement:String}) AS text',
    parameters: { statement },
  })
  return parsed?.text
}

t.test('a role for readers is granted the published views and nothing else', async (t) => {
  const rendered = toGrants({ database })
  t.same(rendered.slice(0, 4), [
    'CREATE ROLE IF NOT EXISTS tieline_reader',
    'CREATE SETTINGS PROFILE IF NOT EXISTS tieline_reader SETTINGS readonly = 2 CONST, max_execution_time = 600 MAX 600, max_memory_usage = 10000000000 MAX 10000000000 TO tieline_reader',
    'GRANT SELECT ON tieline.usage TO tieline_reader',
    'GRANT SELECT ON tieline.registered_usage TO tieline_reader',
  ])
  const granted = rendered.filter((one) => one.startsWith('GRANT'))
  t.same(
    granted,
    publicNames.map((name) => `GRANT SELECT ON tieline.${name} TO tieline_reader`),
  )
  t.equal(rendered.length, 2 + publicNames.length)
})

t.test('on a cluster they apply to all servers', async (t) => {
  const rendered = toGrants({ database, cluster: 'utility' })
  t.ok(rendered.every((one) => one.includes(" ON CLUSTER 'utility'")))
  t.equal(rendered.length, 2 + publicNames.length)
})

t.test('a published view reads tables with the rights of the user that created it', async (t) => {
  const secured = await store.rows<{ name: string }>({
    sql: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View'
      AND create_table_query LIKE '%SQL SECURITY DEFINER%'`,
  })
  t.same(new Set(secured.map(({ name }) => name)), new Set(publicNames))
})

t.test('the engine can parse each of them', async (t) => {
  const both = [toGrants({ database }), toGrants({ database, cluster: 'utility' })]
  for (const statement of both.flat()) t.ok(await asFormatted(statement), statement)
  await t.rejects(
    asFormatted('GRANT SELECT ON tieline.usage FOR tieline_reader'),
    'an invalid statement is refused',
  )
})

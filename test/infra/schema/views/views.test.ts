import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readerLimits, serverLimits } from '../../../../infra/clickhouse/reader-limits.js'
import { packageRoot } from '../../../../infra/package-root.js'
import { readStatements } from '../../../../infra/schema/migrate.js'
import { renderDictionary } from '../../../../infra/schema/views/dictionary.js'
import { readableOf, toGrants } from '../../../../infra/schema/views/grants.js'
import { publicNames } from '../../../../infra/schema/views/public-views.js'
import { id, sql } from '../../../../pipeline/store/sql.js'
import { migratedStore, profile } from '../../../pipeline/customers/registering.js'

const folder = join(packageRoot(import.meta.url), 'infra', 'schema', 'views')
const store = await migratedStore(t)

/** Building blocks of other views; not published. */
const inner = [
  'bill_day',
  'bill_run_current',
  'change_number',
  'comparison_run_current',
  'file_progress',
  'login_lock',
  'meter_days',
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

t.test('a query returns each column as the type that its view declares', async (t) => {
  const declared = await store.rows<{ view: string; name: string; type: string }>({
    sql: 'SELECT table AS view, name, type FROM system.columns WHERE database = currentDatabase()',
  })
  for (const view of publicNames.filter((name) => name !== 'usage_as_of')) {
    const own = declared.filter((one) => one.view === view)
    const returned = await store.rows<{ name: string; type: string }>({
      sql: sql`DESCRIBE TABLE (SELECT * FROM ${id(view)})`,
    })
    const types = returned.map(({ name, type }) => `${name} ${type}`)
    t.same(
      types,
      own.map(({ name, type }) => `${name} ${type}`),
      view,
    )
  }
})

t.test('a name means the same in every view, and a quantity has a unit', async (t) => {
  const columns = await store.rows<{ view: string; name: string; type: string; comment: string }>({
    sql: `SELECT table AS view, name, type, comment FROM system.columns
      WHERE database = currentDatabase() AND table IN {names:Array(String)}`,
    parameters: { names: publicNames },
  })
  const wrong = columns.filter(({ view, name, type, comment }) => {
    if (name === 'start_date') return !comment.startsWith('first day')
    if (name === 'last_date') return !comment.startsWith('last day')
    if (name.endsWith('end_date')) return !/as sent|in force|of the plan/.test(comment)
    if (name.startsWith('billed_')) return !/billed/.test(comment)
    if (!/quantity|consumption/.test(name) || !type.includes('Decimal')) return false
    const hasUnit = columns.some((other) => other.view === view && /^(\w+_)?unit$/.test(other.name))
    return !hasUnit && !/as sent/.test(comment)
  })
  t.same(
    wrong.map(({ view, name, comment }) => `${view}.${name}: ${comment}`),
    [],
  )
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
const statements = await readStatements(profile)
const asFormatted = async (statement: string) => {
  const [parsed] = await store.rows<{ text: string }>({
    sql: 'SELECT formatQuerySingleLine({statement:String}) AS text',
    parameters: { statement },
  })
  return parsed?.text
}

t.test('a role for readers is granted what it may read', async (t) => {
  const rendered = toGrants(statements, { database })
  t.same(rendered.slice(0, 4), [
    'CREATE ROLE IF NOT EXISTS tieline_reader',
    'CREATE SETTINGS PROFILE OR REPLACE tieline_reader SETTINGS readonly = 2 CONST, max_execution_time = 600 MIN 1 MAX 600, max_memory_usage = 10000000000 MIN 1 MAX 10000000000, max_result_bytes = 10000000000 MIN 1 MAX 10000000000, max_concurrent_queries_for_user = 10 MIN 1 MAX 10, http_send_timeout = 60 MIN 1 MAX 60 TO tieline_reader',
    'GRANT SELECT ON tieline.usage TO tieline_reader',
    'GRANT SELECT ON tieline.registered_usage TO tieline_reader',
  ])
  const granted = rendered.filter((one) => one.startsWith('GRANT'))
  t.same(
    granted,
    readableOf(statements, database).map((name) => `GRANT SELECT ON ${name} TO tieline_reader`),
  )
  t.equal(rendered.length, 2 + granted.length)
})

t.test('on a cluster they apply to all servers', async (t) => {
  const rendered = toGrants(statements, { database, cluster: 'utility' })
  t.ok(rendered.every((one) => one.includes(" ON CLUSTER 'utility'")))
  t.equal(rendered.length, toGrants(statements, { database }).length)
})

t.test('what a reader may see is the published views and the tables beneath, nothing else', (t) => {
  const readable = readableOf(statements, database)
  t.same(
    readable.slice(0, publicNames.length),
    publicNames.map((name) => `tieline.${name}`),
  )
  for (const name of ['usage_read', 'publication', 'tenancy'])
    t.ok(readable.includes(`tieline.${name}`))
  for (const name of ['audit_log', 'login_attempt', 'schema_migration']) {
    t.notOk(readable.includes(`tieline.${name}`), name)
  }
  t.end()
})

t.test('the users of the compose file have the same rights and limits', (t) => {
  const path = join(packageRoot(import.meta.url), 'infra', 'deploy', 'clickhouse-users.xml')
  const page = readFileSync(path, 'utf8')
  for (const [name, max] of serverLimits(readerLimits)) {
    t.match(page, `<${name}>${max}</${name}>`)
    t.match(page, `<${name}><min>1</min><max>${max}</max></${name}>`)
  }
  const granted = [...page.matchAll(/GRANT SELECT ON ([\w.]+)/g)]
  t.same(
    granted.map(([, name]) => name),
    readableOf(statements, 'tieline'),
  )
  t.end()
})

t.test('the engine can parse each of them', async (t) => {
  const both = [
    toGrants(statements, { database }),
    toGrants(statements, { database, cluster: 'utility' }),
  ]
  for (const statement of both.flat()) t.ok(await asFormatted(statement), statement)
  await t.rejects(
    asFormatted('GRANT SELECT ON tieline.usage FOR tieline_reader'),
    'an invalid statement is refused',
  )
})

import t from 'tap'
import { tokensKept } from '../../../infra/schema/cluster.js'
import { readStatements } from '../../../infra/schema/migrate.js'
import { migratedStore, profile } from '../../pipeline/customers/registering.js'

const { database } = profile
const store = await migratedStore(t)
const single = await readStatements(profile)
const cluster = await readStatements(profile, 'utility')
/** The statement that creates an object, without its column list and its query. */
const headOf = (statements: readonly string[], name: string) =>
  statements
    .filter((one) => new RegExp(` ${database}\\.${name}[ \n]`).test(one.slice(0, 100)))
    .map((one) => one.replace(/^ {4}.*\n/gm, '').replace(/\nCOMMENT .*/s, ''))

t.test('each object is created exactly once, and nothing is changed after', async (t) => {
  const created = single.map((one) => {
    const [, name = one] =
      /^CREATE (?:TABLE IF NOT|OR REPLACE VIEW|DATABASE IF NOT)(.*)/.exec(one) ?? []
    return name
  })
  t.equal(new Set(created).size, single.length)
  const tables = await store.rows<{ name: string }>({
    sql: 'SELECT name FROM system.tables WHERE database = currentDatabase()',
  })
  t.equal(single.length, tables.length + 1, 'and one statement for the database')
  for (const { name } of tables) t.equal(headOf(single, name).length, 1, name)
})

t.test('engine, ON CLUSTER and the window of insert tokens depend on the servers', async (t) => {
  t.same(headOf(single, 'arrival'), [
    `CREATE TABLE IF NOT EXISTS tieline.arrival (
) ENGINE = MergeTree
ORDER BY arrival
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1`,
  ])
  t.same(headOf(cluster, 'arrival'), [
    `CREATE TABLE IF NOT EXISTS tieline.arrival ON CLUSTER 'utility' (
) ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}')
ORDER BY arrival
SETTINGS ${tokensKept} = 100000, fsync_after_insert = 1, fsync_part_directory = 1`,
  ])
  t.same(headOf(single, 'file_state'), [
    `CREATE TABLE IF NOT EXISTS tieline.file_state (
) ENGINE = ReplacingMergeTree(rank)
ORDER BY arrival
SETTINGS non_replicated_deduplication_window = 100000, fsync_after_insert = 1, fsync_part_directory = 1`,
  ])
  t.same(headOf(cluster, 'file_state'), [
    `CREATE TABLE IF NOT EXISTS tieline.file_state ON CLUSTER 'utility' (
) ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}', '{replica}', rank)
ORDER BY arrival
SETTINGS ${tokensKept} = 100000, fsync_after_insert = 1, fsync_part_directory = 1`,
  ])
  t.match(
    headOf(cluster, 'usage')[0],
    /^CREATE OR REPLACE VIEW tieline.usage ON CLUSTER 'utility' \(/,
  )
  t.equal(
    cluster[0],
    "CREATE DATABASE IF NOT EXISTS tieline ON CLUSTER 'utility'\nCOMMENT 'Meter reads and bills, loaded by Tieline'",
  )
})

t.test('the engine parses every statement of a cluster; all tables are replicated', async (t) => {
  for (const statement of cluster) {
    const [parsed] = await store.rows<{ text: string }>({
      sql: 'SELECT formatQuery({statement:String}) AS text',
      parameters: { statement },
    })
    const text = parsed?.text ?? ''
    t.match(text, / ON CLUSTER utility\b/, statement.slice(0, 80))
    if (/^CREATE TABLE/.test(text)) t.match(text, /ENGINE = Replicated\w*MergeTree\(/)
  }
  t.notMatch(cluster.join('\n'), /non_replicated/)
  t.notMatch(single.join('\n'), / ON CLUSTER |Replicated/)
})

t.test('both differ in these places alone', async (t) => {
  const bare = (statement: string) =>
    statement
      .replace(" ON CLUSTER 'utility'", '')
      .replace(
        /ENGINE = Replicated(\w+)\('[^']*', '\{replica\}'(?:, (\w+))?\)/,
        (_, family, version) => (version ? `ENGINE = ${family}(${version})` : `ENGINE = ${family}`),
      )
      .replace(tokensKept, 'non_replicated_deduplication_window')
      .replace('remove_empty_parts = 0', 'remove_empty_parts = 1')
  t.same(cluster.map(bare), single)
})

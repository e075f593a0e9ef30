import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import type { Topology } from '../../../infra/schema/cluster.js'
import { migrate, migrateUnlessAway } from '../../../infra/schema/migrate.js'
import { createStore, type Statement, type Store } from '../../../pipeline/store/clickhouse.js'
import { bind, statementOf } from '../../../pipeline/store/sql.js'
import { profile } from '../../pipeline/customers/registering.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { replicaOfEach } from '../../rig/replicas/topology.js'

const engine = await createReplicas(profile)
t.teardown(engine.close)
const outside = createStore({ ...engine.stores.r1.address, database: 'default' })
t.teardown(outside.close)

const folder = join(packageRoot(import.meta.url), 'infra', 'schema', 'migrations')
const migrations = readdirSync(folder).length
const servers = ['u1', 'u2'] as const
type Server = (typeof servers)[number]
const topology: Topology = { ...replicaOfEach, cluster: 'two', onCluster: " ON CLUSTER 'two'" }
const onCluster = / ON CLUSTER 'two'/
const ofAll = /clusterAllReplicas\('two', ([\w.]+)\)/

/**
 * A cluster whose two servers are two databases of one engine, where no statement can be sent from
 * one server to another: this sends it to each server that is up.
 */
function clusterOf(up: Server[], statements: string[] = []) {
  const textOf = ({ sql }: Statement) =>
    typeof sql === 'string' ? { text: sql, parameters: {} } : bind(sql)
  const at = (server: Server, text: string) => text.replaceAll(/\bu1\b/g, server)
  const over = (store: Store): Store => ({
    ...store,
    command: async (statement, body) => {
      const { text } = textOf(statement)
      if (!onCluster.test(text)) return store.command(statement, body)
      statements.push(text)
      for (const server of up) {
        await outside.command({ sql: statementOf(at(server, text.replace(onCluster, ''))) })
      }
      return undefined
    },
    rows: async <T>(statement: Statement) => {
      const { text, parameters } = textOf(statement)
      if (!ofAll.test(text)) return store.rows<T>(statement)
      const found: T[] = []
      for (const server of up) {
        const own = Object.entries(parameters).map(([key, value]) => [key, at(server, `${value}`)])
        const rows = await outside.rows<T>({
          sql: text.replace(ofAll, '$1'),
          parameters: Object.fromEntries(own),
        })
        found.push(...rows.map((row) => ({ ...row, host: server })))
      }
      return found
    },
  })
  const first = createStore({ ...engine.stores.r1.address, database: 'u1' })
  const open = (address: Store['address']) => over(createStore(address))
  return { store: over(first), open, close: first.close }
}

const columnsOf = (server: Server) =>
  outside.rows({
    sql: `SELECT table, name, type FROM system.columns WHERE database = '${server}' ORDER BY ALL`,
  })

const upgrade = async (up: Server[], statements: string[] = [], of = topology) => {
  const cluster = clusterOf(up, statements)
  try {
    return await migrate(cluster.store, profile, { topology: of, open: cluster.open })
  } finally {
    await cluster.close()
  }
}

t.test('a migration stops before its first change where a server does not answer', async (t) => {
  const statements: string[] = []
  await t.rejects(upgrade(['u1'], statements), {
    code: 'STORE_UNREACHABLE',
    message: /1 of the 2 servers of cluster two answer: 127\.0\.0\.1, 127\.0\.0\.2/,
  })
  t.same(statements, [])
})

t.test('a cluster that is not known, or has several shards, is refused', async (t) => {
  await t.rejects(upgrade(['u1', 'u2'], [], { ...topology, cluster: 'three' }), {
    code: 'CONFIG',
    message:
      /store\.cluster three is not in system\.clusters of the server; set it to one of: split, two/,
  })
  await t.rejects(upgrade(['u1', 'u2'], [], { ...topology, cluster: 'split' }), {
    code: 'CONFIG',
    message: /cluster split has 2 shards/,
  })
})

t.test('a migration reaches every server', async (t) => {
  const applied = await upgrade(['u1', 'u2'])
  t.equal(applied.length, migrations)
  const columns = await columnsOf('u1')
  t.ok(columns.length > 300)
  t.same(await columnsOf('u2'), columns)
  t.same(await upgrade(['u1', 'u2']), [], 'nothing is pending')
})

t.test('a server that is away holds up nothing where nothing is pending', async (t) => {
  const messages: string[] = []
  const start = async (database: string) => {
    const { store, open, close } = clusterOf(['u1'])
    const other = { ...store, address: { ...store.address, database } }
    const onAway = (detail: string) => messages.push(detail)
    return migrateUnlessAway(other, profile, { topology, open, onAway }).finally(close)
  }
  t.same(await start('u1'), [])
  t.match(messages, [/^1 of the 2 servers of cluster two answer: .*; no migration is pending/])
  await outside.command({
    sql: "ALTER TABLE u1.schema_migration DELETE WHERE name LIKE '001%' SETTINGS mutations_sync = 2",
  })
  await t.rejects(start('u1'), { code: 'STORE_UNREACHABLE' }, 'unless something is')
  t.equal((await upgrade(['u1', 'u2'])).length, migrations)
})

t.test('a server that was replaced gets all tables and views', async (t) => {
  await outside.command({ sql: 'DROP DATABASE u2 SYNC' })
  await outside.command({ sql: 'CREATE DATABASE u2' })
  t.equal((await upgrade(['u1', 'u2'])).length, migrations)
  t.same(await columnsOf('u2'), await columnsOf('u1'))
})

t.test('a server that an upgrade did not reach gets the views of the others', async (t) => {
  await outside.command({ sql: 'CREATE OR REPLACE VIEW u2.usage AS SELECT 1 AS old' })
  t.equal((await upgrade(['u1', 'u2'])).length, migrations)
  t.same(await columnsOf('u2'), await columnsOf('u1'))
  t.same(await upgrade(['u1', 'u2']), [], 'nothing is pending')
})

t.test(
  'a replicated database is not migrated as that of one server, nor the reverse',
  async (t) => {
    const store = createStore({ ...outside.address, database: 'u1' })
    t.teardown(store.close)
    await t.rejects(migrate(store, profile), {
      code: 'CONFIG',
      message: /database u1 is replicated: name its cluster as store\.cluster in the profile/,
    })
    await outside.command({ sql: 'DROP DATABASE u1 SYNC' })
    await outside.command({ sql: 'DROP DATABASE u2 SYNC' })
    await migrate(store, profile)
    await t.rejects(upgrade(['u1', 'u2']), {
      code: 'CONFIG',
      message: /u1 was created for one server/,
    })
  },
)

import t from 'tap'
import { toCluster } from '../../../infra/schema/cluster.js'
import { readStatements } from '../../../infra/schema/migrate.js'
import { migratedStore, profile } from '../../pipeline/customers/registering.js'

const cluster = { name: 'utility', database: profile.database }

t.test('each kind of statement has its form for a cluster', async (t) => {
  const told = toCluster(
    [
      "CREATE DATABASE IF NOT EXISTS tieline COMMENT 'reads'",
      `-- a remark
CREATE TABLE IF NOT EXISTS tieline.arrival
(
    arrival UInt32 COMMENT 'ENGINE = MergeTree'
)
ENGINE = MergeTree
ORDER BY arrival
SETTINGS non_replicated_deduplication_window = 100000`,
      `CREATE TABLE IF NOT EXISTS tieline.state
(
    arrival UInt32
)
ENGINE = ReplacingMergeTree(rank)
ORDER BY arrival`,
      'CREATE OR REPLACE VIEW tieline.load AS SELECT arrival FROM tieline.state FINAL',
      'CREATE OR REPLACE VIEW tieline.gone AS SELECT 1',
      'CREATE OR REPLACE VIEW tieline.as_of AS SELECT {known_at:DateTime} AS at',
      'ALTER TABLE tieline.state ADD COLUMN IF NOT EXISTS fault String',
      'DROP VIEW IF EXISTS tieline.gone',
    ],
    cluster,
  )
  t.same(told, [
    "CREATE DATABASE IF NOT EXISTS tieline ON CLUSTER 'utility' COMMENT 'reads'",
    `CREATE TABLE IF NOT EXISTS tieline.arrival ON CLUSTER 'utility'
(
    arrival UInt32 COMMENT 'ENGINE = MergeTree'
)
ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/tieline/arrival', '{replica}')
ORDER BY arrival
SETTINGS replicated_deduplication_window = 100000`,
    `CREATE TABLE IF NOT EXISTS tieline.state ON CLUSTER 'utility'
(
    arrival UInt32
)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/tieline/state', '{replica}', rank)
ORDER BY arrival`,
    "CREATE OR REPLACE VIEW tieline.load ON CLUSTER 'utility' AS SELECT arrival FROM tieline.state FINAL",
    "CREATE OR REPLACE VIEW tieline.gone ON CLUSTER 'utility' AS SELECT 1",
    "CREATE OR REPLACE VIEW tieline.as_of ON CLUSTER 'utility' AS SELECT {known_at:DateTime} AS at",
    "ALTER TABLE tieline.state ON CLUSTER 'utility' ADD COLUMN IF NOT EXISTS fault String",
    "DROP VIEW IF EXISTS tieline.gone ON CLUSTER 'utility'",
    `CREATE TABLE IF NOT EXISTS tieline.load_all ON CLUSTER 'utility' AS tieline.load
ENGINE = Distributed('utility', 'tieline', 'load')
COMMENT 'The view load of all shards'`,
  ])
  t.throws(() => toCluster(['TRUNCATE TABLE tieline.state'], cluster), {
    message: 'no rule for a cluster: TRUNCATE TABLE tieline.state',
  })
})

t.test('all migrations of the house have one, which the engine can read', async (t) => {
  const store = await migratedStore(t)
  const told = toCluster(await readStatements(profile), cluster)
  for (const statement of told) {
    const [parsed] = await store.rows<{ text: string }>({
      sql: 'SELECT formatQuery({statement:String}) AS text',
      parameters: { statement },
    })
    const text = parsed?.text ?? ''
    t.match(text, / ON CLUSTER utility\b/, statement.slice(0, 80))
    if (/^CREATE TABLE/.test(text)) t.match(text, /ENGINE = (Replicated\w*MergeTree|Distributed)\(/)
  }
  const tables = await store.rows<{ name: string }>({
    sql: `SELECT name FROM system.tables
      WHERE database = {database:String} AND endsWith(engine, 'MergeTree')`,
    parameters: { database: profile.database },
  })
  for (const { name } of tables) {
    const path = `/clickhouse/tables/{shard}/${profile.database}/${name}'`
    t.ok(
      told.some((statement) => statement.includes(path)),
      `${name} is replicated`,
    )
  }
})

import { t } from 'tap'
import { addReader, readersFolder } from '../../../infra/clickhouse/readers.js'
import { ask, clientOf, running, type writer } from './running.js'

const { store, client, dataPath, rows } = await running(t, { readable: ['default.shown'] })
await client.command({ query: 'CREATE TABLE shown (a UInt64) ENGINE = MergeTree ORDER BY a' })
await client.command({ query: 'INSERT INTO shown SELECT number FROM numbers(1000)' })

type Credentials = typeof writer
const folder = readersFolder(dataPath)
const [ada, ben, cas] = ['ada', 'ben', 'cas'].map((user) => ({
  user,
  password: addReader(folder, { name: user, seesAudit: user === 'cas' }),
})) as [Credentials, Credentials, Credentials]

const askAs = async (as: Credentials, query: string, search = '') => {
  const response = await ask(`${store.url}/${search}`, { method: 'POST', body: query, as })
  return response.text()
}

t.test('a reader sees the statements that it has sent, with what became of them', async (t) => {
  const before = Date.now()
  await askAs(ada, 'SELECT a FROM shown WHERE a < 10 FORMAT JSON', '?query_id=mine-1')
  await askAs(ada, 'SELECT throwIf(a = 7) FROM shown', '?query_id=mine-2')
  await askAs(ada, 'SELECT a FROM shown FORMAT CSV', '?query_id=mine-3')
  await askAs(ada, 'DROP TABLE shown', '?query_id=mine-4')
  const official = clientOf(store.url, ada)
  t.teardown(() => official.close())
  const found = await official.query({
    query: `SELECT query_id, type, query, user, read_rows, result_rows, exception_code,
        query_duration_ms, toUnixTimestamp64Milli(query_start_time_microseconds) AS started
      FROM system.query_log WHERE query_id LIKE {id:String} ORDER BY query_id`,
    query_params: { id: 'mine-%' },
    format: 'JSONEachRow',
  })
  const seen = await found.json<Record<string, string | number | null>>()
  t.match(seen, [
    { query_id: 'mine-1', type: 'QueryFinish', read_rows: 1000, result_rows: 10 },
    { query_id: 'mine-2', type: 'ExceptionWhileProcessing', exception_code: 395 },
    { query_id: 'mine-3', type: 'QueryFinish', read_rows: null, result_rows: 1000 },
    { query_id: 'mine-4', type: 'ExceptionWhileProcessing', exception_code: 497 },
  ])
  t.ok(seen.every(({ user }) => user === 'ada'))
  t.ok(seen.every(({ started }) => Number(started) >= before && Number(started) <= Date.now()))
  t.equal(seen[0]?.['query'], 'SELECT a FROM shown WHERE a < 10 FORMAT JSON')
})

t.test('nobody sees the statements of another reader, whatever it claims', async (t) => {
  await askAs(ada, "SELECT 'of ada'")
  await askAs(ben, "SELECT 'of ben'")
  await askAs(cas, "SELECT 'of cas'")
  const users = 'SELECT DISTINCT user FROM system.query_log'
  const claim = "log_comment = 'reader ada: x'"
  const attempts = [
    users,
    `SELECT DISTINCT user FROM (SELECT * FROM system.query_log SETTINGS ${claim})`,
    `SELECT DISTINCT user FROM (SELECT * FROM system.query_log SETTINGS \`log_comment\` = 'reader ada: x')`,
    `WITH q AS (SELECT * FROM system.query_log SETTINGS ${claim}) SELECT DISTINCT user FROM q`,
    `SELECT DISTINCT user FROM view(SELECT * FROM system.query_log SETTINGS ${claim})`,
    `(${users} SETTINGS ${claim}) UNION ALL (${users})`,
    `${users} SETTINGS ${claim}`,
    'SELECT DISTINCT user FROM `system`.`query_log`',
  ]
  for (const statement of attempts) {
    for (const search of ['', `?log_comment=${encodeURIComponent('reader ada: x')}`]) {
      for (const other of [ben, cas]) {
        const answer = await askAs(other, statement, search)
        t.ok(answer === `${other.user}\n` || /^Code: (164|497)/.test(answer), statement)
      }
    }
  }
  const id = encodeURIComponent("x reader ada: ' OR 1")
  t.equal(await askAs(ben, users, `?query_id=${id}`), 'ben\n')
  t.match(await askAs(ben, 'TRUNCATE TABLE system.query_log'), /^Code: 497/)
  const all = await rows<{ user: string }>(`${users} ORDER BY user`)
  t.same(
    all.map(({ user }) => user),
    ['ada', 'ben', 'cas'],
    'the writer sees those of all readers, and its own are not recorded',
  )
})

t.test('the log keeps the last 10,000 statements, and of each a bounded text', async (t) => {
  await askAs(ada, `SELECT 'long' -- ${'x'.repeat(200_000)}`)
  const length = "SELECT max(length(query)) FROM system.query_log WHERE query LIKE '%long%'"
  t.equal(await askAs(ada, length), '100000\n')
  for (let times = 0; times < 3; times++) {
    await client.command({
      query: `INSERT INTO system.query_log (query, user) SELECT 'filler ${times}', 'ada' FROM numbers(4000)`,
    })
  }
  await askAs(ada, "SELECT 'newest'")
  const kept = 'SELECT groupUniqArray(query), count() <= 10000 FROM system.query_log'
  const found = await askAs(ada, kept)
  t.match(found, /newest/)
  t.match(found, /filler 2.*\t1\n/)
  t.notMatch(found, /filler 0/)
})

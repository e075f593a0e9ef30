import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { t } from 'tap'
import { ask, reader, running, writer } from './running.js'

const { store, client } = await running(t)
await client.command({ query: 'CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a' })

const post = (query: string, search = '') =>
  ask(`${store.url}/${search}`, { method: 'POST', body: query })
const textOf = async (query: string, search = '') => (await post(query, search)).text()

/** The body as it is sent, which fetch would unpack; user and key as headers in UTF-8. */
const rawOf = async (query: string, search: string): Promise<[string | undefined, Buffer]> => {
  const key = Buffer.from(writer.password).toString('latin1')
  const headers = {
    'Accept-Encoding': 'gzip',
    'X-ClickHouse-User': writer.user,
    'X-ClickHouse-Key': key,
  }
  return new Promise((resolve, reject) => {
    const sent = request(`${store.url}/${search}`, { method: 'POST', headers }, async (response) =>
      resolve([response.headers['content-encoding'], await buffer(response)]),
    )
    sent.once('error', reject).end(Buffer.from(query))
  })
}

t.test('a word that is not a statement is a syntax error, as on a server', async (t) => {
  t.match(await textOf('foobar'), /^Code: 62\..*Syntax error/)
  t.equal(await textOf("SELECT getSetting('implicit_select')"), 'false\n')
  t.equal(await textOf("SELECT getSetting('async_insert')"), 'false\n')
})

t.test('only POST changes something', async (t) => {
  const get = async (query: string) => {
    const response = await ask(`${store.url}/?query=${encodeURIComponent(query)}`)
    return response.text()
  }
  for (const query of [
    'INSERT INTO kept VALUES (1)',
    'DROP TABLE kept',
    'WITH 1 AS x INSERT INTO kept SELECT x',
    'OPTIMIZE TABLE kept',
  ]) {
    t.match(await get(query), /^Code: 164\..*POST/, query)
  }
  for (const method of ['HEAD', 'PUT', 'OPTIONS', 'DELETE']) {
    const response = await ask(`${store.url}/?query=DROP+TABLE+kept`, { method })
    t.equal(response.headers.get('x-clickhouse-exception-code'), '164', method)
  }
  t.equal((await fetch(store.url, { method: 'HEAD' })).status, 200, 'without a query')
  t.equal(await get('SELECT count() FROM kept'), '0\n')
  t.equal(await get('EXISTS TABLE kept'), '1\n')
  t.match(await get('SHOW TABLES'), /^kept/m)
})

t.test('an insert is answered as text', async (t) => {
  const response = await post('INSERT INTO kept VALUES (7)')
  t.equal(response.headers.get('content-type'), 'text/plain; charset=UTF-8')
  t.equal(await response.text(), '')
  await client.command({ query: 'TRUNCATE TABLE kept' })
})

t.test('progress without a pause does not hold a statement up', async (t) => {
  t.equal(await textOf('SELECT 1', '?interactive_delay=0'), '1\n')
})

t.test('a role in the URL is refused, not ignored', async (t) => {
  t.match(await textOf('SELECT 1', '?role=reader'), /^Code: 511/)
  const response = await ask(`${store.url}/?query=SELECT+1&role=writer`, { as: reader })
  t.match(await response.text(), /^Code: 511/)
})

t.test('the content type of CSV says whether there are names', async (t) => {
  const typeOf = async (format: string) =>
    (await post(`SELECT 1 FORMAT ${format}`)).headers.get('content-type')
  t.equal(await typeOf('CSV'), 'text/csv; charset=UTF-8; header=absent')
  t.equal(await typeOf('CSVWithNames'), 'text/csv; charset=UTF-8; header=present')
  t.equal(await typeOf('CSVWithNamesAndTypes'), 'text/csv; charset=UTF-8; header=present')
})

t.test('a short result and an error are packed too if the client asks for it', async (t) => {
  const search = '?enable_http_compression=1'
  const [coding, short] = await rawOf('SELECT 42', search)
  t.equal(coding, 'gzip')
  t.equal(gunzipSync(short).toString(), '42\n')
  const [errorCoding, error] = await rawOf('SELECT nothing', search)
  t.equal(errorCoding, 'gzip')
  t.match(gunzipSync(error).toString(), /^Code: 47/)
  t.strictSame(await rawOf('SELECT 42', ''), [undefined, Buffer.from('42\n')])
})

t.test(
  'a client chooses how much of a result is held back for the status of an error',
  async (t) => {
    const late = "SELECT number, throwIf(number = 500, 'late') FROM numbers(1000)"
    const blocks = '&max_block_size=1'
    t.equal((await post(late, `?${blocks}`)).status, 500, '64 KB by default')
    for (const search of [
      '?http_response_buffer_size=2',
      '?buffer_size=0',
      '?default_format=JSONEachRowWithProgress',
    ]) {
      const response = await post(late, `${search}${blocks}`)
      t.equal(response.status, 200, search)
      await t.rejects(response.text(), 'and is broken off')
    }
    t.equal((await post(late, `?http_response_buffer_size=1000000${blocks}`)).status, 500)
    t.match(await textOf(late, '?http_response_buffer_size=x'), /^Code: 27|^Code: 36/)
  },
)

t.test('no call without a session finds what another one set', async (t) => {
  await post('CREATE DATABASE other')
  const shown =
    "SELECT currentDatabase(), getSetting('max_query_size'), getSetting('max_block_size')"
  const [before, of] = [await textOf(shown), await textOf(shown, '?max_block_size=77')]
  t.match(of, /\t77\n$/)
  const statements = [
    'SET max_block_size = 55',
    'USE other',
    'CREATE TEMPORARY TABLE mine (a UInt8)',
    'CREATE OR REPLACE TEMPORARY TABLE mine (a UInt8)',
    'SELECT 1 SETTINGS max_block_size = 55',
    'WITH 1 AS x SELECT x SETTINGS max_block_size = 55',
    'INSERT INTO kept SETTINGS max_block_size = 55 VALUES (1)',
    'INSERT INTO kept SETTINGS max_block_size = 55 SELECT 1',
    'ALTER TABLE kept DELETE WHERE a = 2 SETTINGS max_block_size = 55',
    'CREATE OR REPLACE TABLE made ENGINE = Memory AS SELECT 1 AS a SETTINGS max_block_size = 55',
    'DROP TABLE made',
    'SELECT throwIf(1) SETTINGS max_block_size = 55',
    `SELECT length('${'a'.repeat(200_000)}')`,
  ]
  for (const statement of statements) {
    for (const search of ['', '?max_block_size=77', `?param_a=${'a'.repeat(140_000)}`]) {
      await textOf(statement, search)
      for (let call = 0; call < 2; call++) {
        t.equal(await textOf(shown), before, statement.slice(0, 60))
        t.equal(await textOf(shown, '?max_block_size=77'), of)
        t.equal(await textOf(shown, '?param_a=1'), before)
        t.match(await textOf('SELECT * FROM mine'), /UNKNOWN_TABLE/)
        t.match(await textOf('SELECT 1, {a:String}'), /Substitution `a` is not set/)
      }
    }
  }
  t.equal(await textOf('SELECT {a:String}', '?param_a=1'), '1\n')
  t.equal(await textOf('SELECT {a:String}', '?param_a=2'), '2\n')
  t.match(await textOf('SELECT {a:String}', '?param_b=2'), /Substitution `a` is not set/)
})

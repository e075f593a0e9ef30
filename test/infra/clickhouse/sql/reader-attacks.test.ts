import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { createFolder } from '../../../rig/folder.js'
import { sample } from '../../../rig/sample.js'
import { ask, reader, rowsOf, running } from '../running.js'
import { canaryPort } from './canary-port.js'

const { store, client, dataPath } = await running(t, {
  readable: ['default.shown', 'default.beneath'],
})
const rows = rowsOf(client)
const folder = createFolder(t)
const canary = join(folder, 'canary.csv')
writeFileSync(canary, 'canaryvalue\n')
await client.command({ query: 'CREATE TABLE hidden (x String) ENGINE = MergeTree ORDER BY x' })
await client.command({
  query: "CREATE TABLE beneath ENGINE = MergeTree ORDER BY x AS SELECT 'shown value' AS x",
})
await client.command({ query: "INSERT INTO hidden VALUES ('hiddenvalue')" })
await client.command({
  query: 'CREATE VIEW shown AS SELECT length(x) AS n FROM beneath',
})

const calls: string[] = []
let current = ''
const port = await canaryPort(t, () => calls.push(current))
const url = `http://127.0.0.1:${port}/x`

const asReader = async (query: string, { search = '', headers = {} } = {}) => {
  current = `${query} ${search}`
  const response = await ask(`${store.url}/${search}`, {
    method: 'POST',
    body: query,
    as: reader,
    headers,
  })
  return response.text()
}

/** What is beside the canary and in the folder in which the engine works. */
const written = () => [...readdirSync(folder), ...readdirSync(join(dataPath, 'empty'))]

/** In a list of columns, which some functions take as a text. */
const inText = `file(''${canary}'')`

const leaks = (text: string) => /canaryvalue|hiddenvalue|INSERT INTO hidden/.test(text)

t.test('a reader sees what its role may read, and no other table', async (t) => {
  t.equal(await asReader('SELECT n FROM shown'), '11\n')
  t.match(await asReader('SELECT * FROM hidden'), /^Code: 497/)
  t.equal(await asReader('SHOW TABLES'), 'beneath\nshown\n')
  t.equal(
    await asReader("SELECT name FROM system.tables WHERE database = 'default' ORDER BY name"),
    'beneath\nshown\n',
  )
  t.equal(
    await asReader(
      "SELECT DISTINCT table FROM system.columns WHERE database = 'default' ORDER BY table",
    ),
    'beneath\nshown\n',
  )
})

t.test('no plan shows the columns of another table', async (t) => {
  for (const kind of ['QUERY TREE', 'SYNTAX run_query_tree_passes = 1', 'AST', 'query tree']) {
    for (const table of ['hidden', 'shown']) {
      const text = await asReader(`EXPLAIN ${kind} SELECT * FROM ${table}`)
      t.match(text, /^Code: 497.*EXPLAIN (QUERY|SYNTAX|AST), only EXPLAIN PLAN, PIPELINE/i, kind)
    }
  }
  for (const kind of ['', 'PLAN', 'actions = 1', 'PIPELINE', 'ESTIMATE', 'ANALYZE']) {
    t.match(await asReader(`EXPLAIN ${kind} SELECT * FROM hidden`), /^Code: 497/, kind)
    t.notMatch(await asReader(`EXPLAIN ${kind} SELECT * FROM shown`), /^Code/, kind)
  }
  for (const query of ['(SELECT 1)', 'FROM shown SELECT n', 'WITH 1 AS m SELECT m']) {
    t.notMatch(await asReader(`EXPLAIN ${query}`), /^Code/, query)
  }
})

t.test('no error shows the columns of another table', async (t) => {
  for (const query of [
    'SELECT h.y FROM hidden AS h',
    'SELECT h.y FROM default."hidden" AS h',
    'SELECT *, count() FROM hidden',
    'SELECT abs(tuple(*)) FROM hidden',
    'SELECT q.y FROM (SELECT * FROM `hidden`) AS q',
    'EXPLAIN SELECT h.y FROM hidden AS h',
  ]) {
    const text = await asReader(query)
    t.match(text, /^Code: 497.*the statement fails \([A-Z_]+\) and names hidden, /, query)
  }
  t.match(await asReader('SELECT s.m FROM shown AS s'), /^Code: 47.*Maybe you meant: \['s\.n'\]/)
  t.match(await asReader('SELECT *, count() FROM beneath'), /^Code: 215.*beneath\.x/)
})

t.test(
  'a name, a setting, a format or a second statement brings no file and no foreign row',
  async (t) => {
    const attacks: readonly (
      | string
      | { query: string; search?: string; headers?: Record<string, string> }
    )[] = [
      `SELECT * APPLY file FROM (SELECT '${canary}' AS x)`,
      `SELECT * APPLY(file) FROM (SELECT '${canary}' AS x)`,
      `SELECT COLUMNS('x') APPLY file FROM (SELECT '${canary}' AS x)`,
      `SELECT arrayMap(file, ['${canary}'])`,
      `SELECT arrayMap(\`file\`, ['${canary}'])`,
      `WITH file AS f SELECT f('${canary}')`,
      `EXPLAIN SELECT file('${canary}')`,
      `SELECT 1 // '\n, file('${canary}') -- '`,
      `SELECT 1 /* /* */ ' */, file('${canary}') -- '`,
      `SELECT $é$ ' $é$, file('${canary}') -- '`,
      `SELECT 1 AS 1a$x$ ' $x$, file('${canary}') -- '`,
      `SELECT 1 SETTINGS limit = 1., max_memory_usage = 0, additional_result_filter = 'file('${canary}') != 1'`,
      `SELECT b FROM generateRandom('a String, b String ALIAS ${inText}') LIMIT 1`,
      `SELECT b FROM values('a String, b String ALIAS ${inText}', ('x'))`,
      `SELECT b FROM \`values\`('a String, b String DEFAULT ${inText}', ('x', 'y'))`,
      `DESCRIBE format(JSONEachRow, 'b UInt8 DEFAULT ${inText}', '{}')`,
      `SELECT * FROM null('b UInt8 DEFAULT ${inText}')`,
      `SELECT structureToCapnProtoSchema('b UInt8 DEFAULT ${inText}', 'M')`,
      `SELECT structureToProtobufSchema('a String, b UInt8 ALIAS toUInt8(${inText})', 'M')`,
      "SELECT * FROM merge('default', '.*')",
      "SELECT * FROM merge('system', 'processes')",
      'SELECT query FROM system.processes',
      'SELECT query FROM system . `processes`',
      'SELECT * FROM system.user_processes',
      'SELECT last_error_message FROM system.errors',
      'SELECT * FROM system.stack_trace',
      'SHOW PROCESSLIST',
      'SHOW FULL PROCESSLIST',
      'KILL QUERY WHERE 1',
      'SET ROLE writer',
      'SELECT * FROM view(SELECT * FROM hidden)',
      "SELECT * FROM viewIfPermitted(SELECT x FROM hidden ELSE null('x String'))",
      `SELECT 'x' INTO OUTFILE '${canary}' TRUNCATE FORMAT TSV`,
      {
        query: '',
        search: `?${new URLSearchParams({ query: 'SELECT 1', default_format: `TSV; SELECT 'x' INTO OUTFILE '${folder}/written' FORMAT TSV` })}`,
      },
      {
        query: 'SELECT 1',
        search: `?${new URLSearchParams({ default_format: `TSV; DESCRIBE TABLE url('${url}')` })}`,
      },
      {
        query: 'SELECT 1',
        search: `?${new URLSearchParams({ default_format: 'TSV; KILL QUERY WHERE 1' })}`,
      },
      {
        query: 'SELECT 1',
        headers: {
          'X-ClickHouse-Format': `TSV; SELECT 'x' INTO OUTFILE '${folder}/written' FORMAT TSV`,
        },
      },
      { query: 'SELECT * FROM processes', search: '?database=system' },
      { query: 'SELECT 1', search: '?role=writer' },
    ]
    for (const attack of attacks) {
      const { query, ...options } = typeof attack === 'string' ? { query: attack } : attack
      const text = await asReader(query, options)
      t.notOk(leaks(text), `${query}: ${text}`)
      t.match(text, /^Code: \d+|^1\n$/, current)
    }
    t.same(readdirSync(folder), ['canary.csv'])
    t.equal(readFileSync(canary, 'utf8'), 'canaryvalue\n')
    t.same(calls, [])
  },
)

t.test('an error speaks of the statement of the reader alone', async (t) => {
  for (const statement of [
    'SELECT n FRM shown x y',
    'SELECT * FROM $x$y$x$',
    "SELECT toUInt8('x') FORMAT TSV",
    'SELECT n FROM',
    'SELECT n AS',
    'SELECT n FROM shown ORDER BY',
    'SELECT n FROM shown WHERE',
    'SELECT n FROM shown LIMIT',
    'SELECT n FROM shown FORMAT',
    'SELECT n FROM shown FORMAT CSV x',
    'SELECT (1',
    'WITH x AS (SELECT 1)',
    'SELECT n FROM shown SETTINGS max_threads = 1 LIMIT',
  ]) {
    const text = await asReader(statement)
    t.match(text, /^Code: \d+/)
    t.notMatch(text, /OUTFILE '|pipes|\(INTO\)|\(OUTFILE\)|APPEND|line 2/, text)
  }
  t.match(
    await asReader('SELECT n FROM shown WHERE'),
    /^Code: 62.*failed at position 26 \(end of query\): \. Expected one of: expression/,
  )
  t.match(await asReader('SELEC 1'), /^Code: 62\. .*Syntax error: failed at position 1 \(SELEC\)/)
})

/** All of them in the long tests, else one of so many. */
const every = sample({ short: 24, long: 1 })

t.test('no function and no table function of the engine reads, writes or calls', async (t) => {
  const functions = await rows<{ name: string }>('SELECT name FROM system.functions ORDER BY name')
  const tables = await rows<{ name: string }>(
    'SELECT name FROM system.table_functions ORDER BY name',
  )
  const asleep = /^sleep/
  const statements = [
    ...functions.flatMap(({ name }) =>
      [
        `SELECT \`${name}\`('${canary}')`,
        `SELECT \`${name}\`('${url}')`,
        `SELECT \`${name}\`('default.hidden', 'x', 1)`,
        `SELECT arrayMap(\`${name}\`, ['${canary}'])`,
        `SELECT * APPLY \`${name}\` FROM (SELECT '${canary}' AS x)`,
      ].filter(() => !asleep.test(name)),
    ),
  ]
  const place = `127.0.0.1:${port}`
  const inputs = [
    `'${canary}'`,
    `'${canary}', 'CSV', 'a String'`,
    `'${join(folder, 'made')}', 't'`,
    "'made', 't'",
    `'${url}'`,
    `'${url}', 'CSV', 'a String'`,
    `'${place}', default.hidden`,
    `'${place}', 'default', 'hidden', 'u', 'p'`,
    "'default', 'hidden'",
    "'system', 'processes'",
    'system, processes',
  ]
  const ofTables = tables.flatMap(({ name }) =>
    inputs.flatMap((input) => [
      `SELECT * FROM \`${name}\`(${input}) LIMIT 3`,
      `DESCRIBE TABLE \`${name}\`(${input})`,
    ]),
  )
  t.ok(statements.length > 8_000 && ofTables.length > 1_500)
  const some = [...ofTables, ...statements.filter((_, index) => index % every === 0)]
  const search = '?max_execution_time=5'
  for (const statement of some) {
    const text = await asReader(statement, { search })
    if (leaks(text)) t.fail(`${statement}: ${text}`)
  }
  t.same(calls, [])
  t.same(written(), ['canary.csv'])
})

t.test('no setting of the engine opens a file, a connection or a row', async (t) => {
  const settings = await rows<{ name: string }>('SELECT name FROM system.settings ORDER BY name')
  const values = [
    canary,
    url,
    `file('${canary}') != ''`,
    `{'default.shown': 'file(\\'${canary}\\') != 1'}`,
  ]
  const tried = settings.flatMap(({ name }) => values.map((value) => ({ name, value })))
  const some = tried.filter((_, index) => index % every === 0)
  const dangerous = [
    'additional_result_filter',
    'additional_table_filters',
    'format_template_row',
    'format_template_resultset',
    'output_format_schema',
    'dialect',
  ]
  const all = [...some, ...tried.filter(({ name }) => dangerous.includes(name))]
  for (const { name, value } of all) {
    const search = `?${new URLSearchParams({ [name]: value, max_execution_time: '5' })}`
    const text = await asReader('SELECT n FROM shown FORMAT Template', { search })
    const own = text.replaceAll(value, '')
    if (leaks(own)) t.fail(`${name}: ${text}`)
    const inStatement = await asReader(
      `SELECT n FROM shown SETTINGS ${name} = '${value.replaceAll("'", "\\'")}'`,
    )
    if (leaks(inStatement)) t.fail(`${name}: ${inStatement}`)
  }
  t.ok(all.length > 100)
  t.same(calls, [])
  t.same(written(), ['canary.csv'])
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { t } from 'tap'
import { refuseForReader } from '../../../../infra/clickhouse/sql/reader.js'
import { readStatement } from '../../../../infra/clickhouse/sql/statement.js'
import { tokensOf } from '../../../../infra/clickhouse/sql/tokens.js'
import { createFolder } from '../../../rig/folder.js'
import { runs } from '../../../rig/sample.js'
import { sampled } from '../../../schemas/sampled.js'
import { ask, reader, rowsOf, running } from '../running.js'

const { store, client, analyst } = await running(t, { readable: ['default.open'] })
const secret = join(createFolder(t), 'secret.csv')
writeFileSync(secret, 'private\n')
await client.command({
  query: 'CREATE TABLE open (a UInt8, name String) ENGINE = MergeTree ORDER BY a',
})
await client.command({ query: "INSERT INTO open VALUES (1, 'x')" })

const asReader = async (query: string, search = '') => {
  const response = await ask(`${store.url}/${search}`, { method: 'POST', body: query, as: reader })
  return { status: response.status, text: await response.text() }
}

t.test('a reader asks what it likes about tables', async (t) => {
  const rows = rowsOf(analyst)
  const queries = [
    "SELECT a, name FROM open WHERE name IN ('x', '/y')",
    "SELECT 'a/b' AS `kWh/day`, concat(name, '/') AS \"x.y\" FROM default.open AS o, numbers(1) AS n",
    'WITH t AS (SELECT 1 AS a) SELECT * FROM t JOIN open USING (a) ORDER BY a DESC LIMIT 1',
    "SELECT 1 AS a, 'x' AS b FROM open UNION ALL SELECT 2, 'y/z'",
    'SHOW TABLES',
    'DESCRIBE TABLE open',
    'SELECT {p:String} AS p, count() FROM `open` WHERE 1 GROUP BY p',
  ]
  for (const query of queries) {
    await t.resolves(rows(query, { params: { p: '/x' }, settings: { max_threads: 1 } }), query)
  }
})

t.test('a reader writes nothing and reaches no file, network or setting', async (t) => {
  const path = `'${secret}'`
  const queries = [
    "INSERT INTO open VALUES (2, 'y')",
    'CREATE TABLE other (a UInt8) ENGINE = Memory',
    'DROP TABLE open',
    'TRUNCATE TABLE open',
    'ALTER TABLE open DELETE WHERE 1',
    'KILL QUERY WHERE 1',
    'SYSTEM FLUSH LOGS',
    'SET readonly = 0',
    'SELECT 1 SETTINGS readonly = 0',
    'SELECT 1; DROP TABLE open',
    `SELECT file(${path})`,
    `SELECT \`file\`(${path})`,
    `SELECT "f\\x69le"(${path})`,
    `SELECT file/**/(${path})`,
    `SELECT FILE -- x\n(${path})`,
    `SELECT * FROM file(${path})`,
    `SELECT * FROM ${path}`,
    `SELECT * FROM open, ${path}`,
    `SELECT * FROM open JOIN ${path} ON 1`,
    `SELECT * FROM open AS a JOIN open AS b ON a.a = b.a, ${path}`,
    `SELECT * FROM open AS where, ${path}`,
    `SELECT * FROM open AS select, ${path}`,
    `FROM open AS o, ${path} SELECT *`,
    `SELECT * FROM open UNION ALL SELECT 1, file(${path})`,
    `SHOW CREATE TABLE ${path}`,
    `SELECT * FROM \`${secret}\``,
    `SELECT * FROM default.\`${secret}\``,
    `SELECT * FROM default . "${secret}"`,
    `SELECT 1 WHERE 'x' IN \`${secret}\``,
    `DESCRIBE TABLE ${path}`,
    `DESCRIBE ${path}`,
    `SELECT * FROM “${secret}”`,
    `SELECT * FROM $x$${secret}$x$`,
    "SELECT * FROM url('http://127.0.0.1:1/')",
    "SELECT * FROM s3('http://127.0.0.1:1/bucket/key')",
    "SELECT * FROM remote('127.0.0.1', system.one)",
    "SELECT * FROM executable('id', 'CSV', 'a String')",
    `SELECT 1 INTO OUTFILE ${path}`,
    `SELECT 1 INTO/**/outfile ${path} APPEND`,
    `EXPLAIN SELECT * FROM file(${path})`,
    'SELECT \u0001 1',
  ]
  for (const query of queries) {
    const { status, text } = await asReader(query)
    t.not(status, 200, query)
    t.notMatch(text, /private\n/)
    t.match(text, /^Code: (497|164|62)\./, text)
  }
  const loosened = await asReader('SELECT 1', '?readonly=0')
  t.match(loosened.text, /^Code: 164/)
  const identifier = new URLSearchParams({ param_t: secret, param_d: 'default' })
  for (const query of [
    'SELECT * FROM {t:Identifier}',
    'SELECT * FROM {d:Identifier}.{t:Identifier}',
  ]) {
    const { status, text } = await asReader(query, `?${identifier}`)
    t.equal(status, 403, query)
    t.notMatch(text, /private\n/)
  }
  t.equal(readFileSync(secret, 'utf8'), 'private\n')
  t.match(await rowsOf(client)('SELECT count() AS n FROM open'), [{ n: /^1$/ }])
})

/** How often judging a text looks at a token of it. */
function looksAt(sql: string): number {
  let looks = 0
  const statement = readStatement(sql)
  const tokens = new Proxy(statement.tokens, {
    get: (all, key) => {
      looks++
      return Reflect.get(all, key)
    },
  })
  const judge = () => refuseForReader({ ...statement, tokens }, { seesStatements: false })
  t.throws(judge, 'also a refusal comes at the end of the text')
  return looks
}

t.test('judging a text twice as long takes twice the work', (t) => {
  const shapes: readonly ((times: number) => string)[] = [
    (times) => `SELECT ${'values((1, 2)),'.repeat(times)}file()`,
    (times) => `SELECT ${'values((1, '.repeat(times)}${')),1'.repeat(times)}, file()`,
  ]
  for (const shape of shapes) {
    const looks = looksAt(shape(500))
    t.ok(looksAt(shape(1_000)) < 3 * looks, `${shape(2)}: ${looks}`)
  }
  t.end()
})

const text = fc.string({ unit: fc.constantFrom(...'abf\\\'"`$-#/*(){}[];,. \n1_é“”‘’\u0001') })

t.test('the tokenizer loses nothing: between two tokens are blanks and comments', (t) => {
  const property = fc.property(text, (sql) => {
    let at = 0
    for (const token of tokensOf(sql)) {
      const gap = sql.slice(at, token.start)
      if (token.start < at || token.end <= token.start) return false
      if (!/^(\s|(?:--|\/\/)[^\n]*|#[! ][^\n]*|\/\*[\s\S]*?\*\/)*$/.test(gap)) return false
      at = token.end
    }
    return /^(\s|(?:--|\/\/)[^\n]*|#[! ][^\n]*|\/\*[\s\S]*?\*\/)*$/.test(sql.slice(at))
  })
  sampled(t, property, 20_000)
  t.end()
})

/** Each hides a call from a reader of SQL that does not know the rule of ClickHouse's lexer. */
const hidden = [
  "SELECT 1 // '\n, CALL -- '",
  "SELECT 1 /* /* */ ' */, CALL -- '",
  'SELECT 1 /* /* */ */, CALL',
  "SELECT $ ' $x$ ' $, CALL -- '",
  "SELECT $é$ ' $é$, CALL -- '",
  "SELECT 1 AS 1a$x$ ' $x$, CALL -- '",
  'SELECT 1e--2, CALL\n',
  'SELECT .5e--2, CALL\n',
  'SELECT 0x1p--2, CALL\n',
  'SELECT 1 AS 1file, CALL',
]

t.test('no comment, heredoc or number hides a call from the tokenizer', async (t) => {
  for (const form of hidden) {
    const query = form.replace('CALL', `file('${secret}')`)
    t.throws(() => refuseForReader(readStatement(query), { seesStatements: false }), query)
    t.notMatch((await asReader(query)).text, /private\n/, query)
  }
  const kinds = (sql: string) =>
    [...tokensOf(sql)].map(({ kind, start, end }) => `${kind} ${sql.slice(start, end)}`)
  for (const number of ['1', '1.', '.5', '1.5e-3', '1_000', '0x1p0', '0x1.8', '0b11', '0x1e']) {
    t.same(kinds(`= ${number}, a`).slice(1, 2), [`number ${number}`])
  }
  t.same(kinds('t.1.2'), ['word t', 'mark .', 'number 1', 'mark .', 'number 2'])
  t.same(kinds('1st // x\n/* y */2'), ['word 1st', 'number 2'])
  for (const sql of ['/*', '/* /* */ */', '$', '$é$ $é$', '1e-', '1.5a']) {
    t.match(kinds(sql), [/^unplaced/], sql)
  }
})

t.test('whatever stands around it, a call of file is refused', (t) => {
  const gap = fc.constantFrom('', ' ', '\n', '/* ( */', "-- '\n", '/**/')
  const name = fc.constantFrom('file', 'FILE', 'File', '`file`', '"file"')
  const around = fc.constantFrom(
    '$',
    '1 + $',
    "'it''s' || $",
    '[$]',
    '(SELECT $)',
    '`a``b` + $',
    "'\\'' || $",
  )
  const property = fc.property(around, name, gap, (before, called, between) => {
    const sql = `SELECT ${before.replace('$', () => `${called}${between}('/etc/passwd')`)} FROM t`
    try {
      refuseForReader(readStatement(sql), { seesStatements: false })
      return false
    } catch {
      return true
    }
  })
  sampled(t, property, 5_000)
  t.end()
})

t.test('no mixture of SQL brings the content of a file to a reader', async (t) => {
  const pieces = [
    'SELECT ',
    '1',
    ' FROM ',
    'open',
    ' AS ',
    'where',
    ', ',
    '--',
    '//',
    '/*',
    '/* /*',
    "$ ' $",
    '1e',
    '*/',
    '\n',
    '(',
    ')',
  ]
  const paths = [
    'P',
    "'P'",
    '"P"',
    '`P`',
    '‘P’',
    '$$P$$',
    "file('P')",
    '`file`("P")',
    "file('P', LineAsString)",
  ]
  const more = [
    ' JOIN ',
    ' ON 1 ',
    ' UNION ALL SELECT ',
    '#',
    "''",
    '``',
    "\\'",
    '$',
    ' IN ',
    'default.',
    ';',
  ]
  const mixture = fc.array(fc.constantFrom(...pieces, ...paths, ...more), { maxLength: 9 })
  const seed = Date.now() & 0x7fffffff
  t.comment(`seed ${seed}`)
  const samples = fc.sample(mixture, { numRuns: runs(600), seed })
  const leaks: string[] = []
  for (let at = 0; at < samples.length; at += 20) {
    const batch = samples.slice(at, at + 20).map(async (parts) => {
      const query = `SELECT * FROM ${parts.join('')}`.replaceAll('P', () => secret)
      const { text } = await asReader(query)
      if (/private\n/.test(text)) leaks.push(query)
    })
    await Promise.all(batch)
  }
  t.strictSame(leaks, [])
})

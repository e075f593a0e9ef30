import { t } from 'tap'
import { readerLimits } from '../../../../infra/clickhouse/reader-limits.js'
import { wordsAfterNames } from '../../../../infra/clickhouse/sql/settings-clause.js'
import { ask, reader, running } from '../running.js'

const { store } = await running(t)

const asReader = async (query: string, search = '') => {
  const response = await ask(`${store.url}/${search}`, { method: 'POST', body: query, as: reader })
  return response.text()
}

const threads = "getSetting('max_threads')"
/** Wherever a statement may have settings; `?` is their text. */
const places = [
  `SELECT ${threads} AS a SETTINGS ?`,
  `SELECT ${threads} AS a SETTINGS ?;`,
  `SELECT ${threads} AS a SETTINGS ? FORMAT TSV`,
  `SELECT ${threads} AS a FORMAT TSV SETTINGS ?`,
  `SELECT a FROM (SELECT ${threads} AS a SETTINGS ?)`,
  `SELECT (SELECT ${threads} SETTINGS ?) AS a`,
  `WITH x AS (SELECT ${threads} AS a SETTINGS ?) SELECT a FROM x`,
  `SELECT ${threads} AS a SETTINGS ? UNION DISTINCT SELECT 7`,
  `SELECT 1. AS a SETTINGS ? FORMAT Null`,
  `SELECT a FROM (SELECT ${threads} AS a, 1 AS where SETTINGS ?)`,
]

t.test('settings of a statement are judged as those of a URL', async (t) => {
  for (const place of places) {
    const expected = place.includes('Null') ? '' : '7\n'
    for (const text of ['max_threads = 7', "extremes = 0, `max_threads`='7'"]) {
      t.equal(await asReader(place.replace('?', text)), expected, place)
    }
  }
  t.equal(await asReader(`SELECT ${threads} SETTINGS max_threads = 7`, '?max_threads=3'), '7\n')
  t.equal(await asReader("SELECT getSetting('join_use_nulls') SETTINGS join_use_nulls"), 'true\n')
  t.equal(
    await asReader("SELECT toDateTime(0) SETTINGS session_timezone = 'America/Detroit'"),
    '1969-12-31 19:00:00\n',
  )
  t.equal(await asReader("SELECT 1 SETTINGS readonly = 2, log_comment = 'mine'"), '1\n')
  t.equal(
    await asReader(`SELECT ${threads} > 0 SETTINGS max_threads = DEFAULT`, '?max_threads=3'),
    '1\n',
  )
})

t.test('a setting that a URL may not have is refused in a statement, wherever it is', async (t) => {
  for (const place of places) {
    for (const text of [
      'max_threads = 7, format_schema = 1',
      'format_schema',
      '`format_schema` = 1',
      "additional_result_filter = '0'",
      'readonly = 0',
      'max_threads = [1]',
      'max_threads == 7',
      "limit = 1., additional_result_filter = '0'",
      "limit = 0x1p0, additional_result_filter = '0'",
      "limit = 0x1.8, additional_result_filter = '0'",
      "limit = 1 1, additional_result_filter = '0'",
      "limit = 1::Int8, additional_result_filter = '0'",
    ]) {
      const statement = place.replace('?', text)
      t.match(await asReader(statement), /^Code: (164|62)\./, statement)
    }
  }
  t.match(await asReader('SELECT * FROM (SELECT 1 SETTINGS readonly = 2)'), /^Code: 164/)
})

t.test('a column named settings stays a column', async (t) => {
  t.equal(
    await asReader('SELECT number AS settings FROM numbers(2) ORDER BY settings DESC'),
    '1\n0\n',
  )
  const names = (await asReader('SELECT name FROM system.settings')).split('\n')
  t.ok(names.length > 1_000)
  t.same(
    names.filter((name) => wordsAfterNames.test(name)),
    [],
  )
  t.match(await asReader("SHOW SETTINGS ILIKE '%max_threads%'"), /^max_threads\t/m)
  for (const rest of [
    'DIV 2',
    'FROM (SELECT 5 AS settings) AS s WINDOW w AS ()',
    'FROM (SELECT 5 AS settings) AS settings ANY JOIN (SELECT 5 AS a) AS t ON 1 = 1',
    'FROM (SELECT 5 AS settings) AS settings ARRAY JOIN [1] AS b',
    'FROM (SELECT 5 AS settings) AS settings SETTINGS max_threads = 1',
  ]) {
    const from = rest.startsWith('FROM') ? '' : ' FROM (SELECT 5 AS settings)'
    t.match(await asReader(`SELECT toString(settings) AS x, settings ${rest}${from}`), /^5\t/, rest)
  }
  t.equal(await asReader('SELECT s.settings FROM (SELECT 5 AS settings) AS s'), '5\n')
  t.equal(await asReader("SELECT count() > 9 FROM system.settings s WHERE name != ''"), '1\n')
})

t.test('limits of readers can be lowered but not raised', async (t) => {
  const max = readerLimits.seconds
  const current = "SELECT getSetting('max_execution_time')"
  t.equal(await asReader(current), `${max}\n`)
  t.equal(await asReader(current, '?max_execution_time=5'), '5\n')
  t.equal(await asReader(`${current} SETTINGS max_execution_time = 5`), '5\n')
  for (const value of [max + 1, 0, -1, "'1h'", 'DEFAULT']) {
    for (const statement of [
      `SELECT 1 SETTINGS max_execution_time = ${value}`,
      `SELECT * FROM (SELECT 1 SETTINGS max_execution_time = ${value})`,
    ]) {
      const text = await asReader(statement)
      t.match(
        text,
        /^Code: 452\..*max_execution_time.*600.*SETTING_CONSTRAINT_VIOLATION/,
        statement,
      )
    }
  }
  for (const name of ['max_memory_usage', 'max_result_bytes']) {
    t.match(await asReader('SELECT 1', `?${name}=0`), new RegExp(`^Code: 452\\..*${name}`))
    t.match(await asReader('SELECT 1', `?${name}=1e15`), new RegExp(`^Code: 452\\..*${name}`))
    t.equal(await asReader('SELECT 1', `?${name}=1000000`), '1\n')
  }
})

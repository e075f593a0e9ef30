import { t } from 'tap'
import { readerNames } from '../../../../infra/clickhouse/sql/reader-names.js'
import { ask, reader, rowsOf, running } from '../running.js'

const { store, client } = await running(t)
const rows = rowsOf(client)
const names = readerNames()
const asReader = async (query: string) =>
  (await ask(`${store.url}/`, { method: 'POST', body: query, as: reader })).text()

const namesOf = async (table: string) =>
  (await rows<{ name: string }>(`SELECT name FROM system.${table}`)).map(({ name }) => name)

t.test('every name of the engine is open or closed to readers, and none is both', async (t) => {
  const functions = await namesOf('functions')
  const tables = await namesOf('table_functions')
  t.ok(functions.length > 1_500 && tables.length > 80)
  const isPlaced = (name: string): boolean =>
    names.closedBecause(name.toLowerCase()) !== undefined || inList('call', name)
  const inList = (list: string, name: string): boolean =>
    names.lists.get(list)?.has(name.toLowerCase()) ?? false
  t.same(
    functions.filter((name) => !isPlaced(name)),
    [],
    'place these functions in infra/clickhouse/sql/reader-names.txt',
  )
  const isPlacedTable = (name: string): boolean =>
    inList('table', name) || names.isClosedTable(name.toLowerCase())
  t.same(
    tables.filter((name) => !isPlacedTable(name)),
    [],
    'place these table functions in infra/clickhouse/sql/reader-names.txt',
  )
  const open = ['call', 'table', 'type', 'word'].flatMap((list) => [
    ...(names.lists.get(list) ?? []),
  ])
  t.ok(open.length > 1_700)
  t.same(
    open.filter((name) => names.closedBecause(name) !== undefined),
    [],
  )
  t.same(
    [...(names.lists.get('table') ?? []), ...(names.lists.get('word') ?? [])].filter((name) =>
      names.isClosedTable(name),
    ),
    [],
  )
})

t.test('the lists have nothing that the engine does not have', async (t) => {
  const sources = {
    call: 'functions',
    closed: 'functions',
    table: 'table_functions',
    'closed table': 'table_functions',
    combinator: 'aggregate_function_combinators',
    type: 'data_type_families',
    setting: 'settings',
  }
  for (const [list, table] of Object.entries(sources)) {
    const known = new Set((await namesOf(table)).flatMap((name) => name.toLowerCase().split(' ')))
    const listed = [...(names.lists.get(list) ?? [])]
    t.ok(listed.length > 0)
    t.same(
      listed.filter((name) => !known.has(name)),
      [],
      list,
    )
  }
})

t.test('a name that is not in the lists is refused with its name and a remedy', async (t) => {
  for (const called of [
    'frobnicate(1)',
    '`frobnicate`(1)',
    '"select"(1)',
    'sumFrobnicate(1)',
    `sum${'If'.repeat(200)}(1)`,
    '* APPLY frobnicate FROM (SELECT 1)',
    '* APPLY(frobnicate) FROM (SELECT 1)',
    '* APPLY frobnicate(1) FROM (SELECT 1)',
    '* APPLY(x -> frobnicate(x)) FROM (SELECT 1)',
    'arrayMap(x -> frobnicate(x), [1])',
    '1 FROM frobnicate(1)',
  ]) {
    const text = await asReader(`SELECT ${called}`)
    t.match(text, /^Code: 46\..*(frobnicate|IfIf|select).*SHOW FUNCTIONS/i, called)
  }
  t.match(await asReader("SELECT file('x')"), /^Code: 497\..* file: it reaches .* tieline sql/)
  t.match(await asReader("SELECT * FROM url('x')"), /^Code: 497\..* url: it reaches .* tieline sql/)
  for (const first of [
    "'a String'",
    "('a String')",
    "('a String', 1).1",
    "concat('a', ' String')",
  ]) {
    t.match(
      await asReader(`SELECT * FROM values(${first}, ('x'))`),
      /^Code: 497\..* values:/,
      first,
    )
  }
  t.match(await asReader('SELECT tcpPort()'), /^Code: 497\..* tcpPort: it shows the machine/)
  for (const called of [
    "editDistance('ab', 'ba')",
    'arrayLevenshteinDistance([1], [2])',
    "arrayMap(jaroSimilarity, ['a'], ['b'])",
  ]) {
    const text = await asReader(`SELECT ${called}`)
    t.match(text, /^Code: 497\..* \w+: it compares .* cannot be stopped/, called)
  }
  t.match(await asReader('SHOW CLUSTERS'), /^Code: 497\./)
})

t.test('a reader writes functions, types and words as it likes', async (t) => {
  for (const [statement, result] of [
    ['SELECT sumIf(number, number > 1), argMaxOrNull(1, 2), count(*) FROM numbers(4)', '5\t1\t4'],
    ['SELECT quantilesTDigestIf(0.5)(number, 1) FROM numbers(3)', '[1]'],
    ['SELECT * APPLY sum FROM numbers(3)', '3'],
    ["SELECT COLUMNS('n.*') APPLY(x -> x + 1) APPLY(toString) FROM numbers(1)", '1'],
    ['SELECT * REPLACE(number + 1 AS number) FROM numbers(1)', '1'],
    ['SELECT CAST(1 AS Nullable(Decimal(9, 2))), [2]::Array(UInt8)[1]', '1\t2'],
    ["SELECT TRIM(BOTH 'x' FROM concat('x', 'y')), SUBSTRING('abc' FROM (1) FOR (2))", 'y\tab'],
    [
      "SELECT EXTRACT(YEAR FROM toDate('2026-01-01')), DATE_ADD(DAY, 1, toDate('2026-01-01'))",
      '2026\t2026-01-02',
    ],
    ['SELECT CASE WHEN (1) THEN (2) ELSE (3) END, NOT (1), 1 IN (1), (1) AND (0)', '2\t0\t1\t0'],
    ["SELECT sum(number) OVER (PARTITION BY (1)), UPPER('a') FROM numbers(1)", '0\tA'],
    ["SELECT 1 AS url, 2 AS merge, 3 AS format, 4 AS remote, format('{}', 5)", '1\t2\t3\t4\t5'],
    [
      'WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL (SELECT x + 1 FROM r WHERE x < (3))) SELECT max(x) FROM r',
      '3',
    ],
    ['SELECT sum(x) FROM (SELECT arrayJoin(arrayMap(toUInt8, [1, 2])) AS x)', '3'],
    ["SELECT * FROM VALUES (('a', 1), ('b', 2)) AS v LIMIT 1", 'a\t1'],
    ['SELECT untuple((1, 2)), exists(SELECT 1), INTERVAL (1) DAY', '1\t2\t1\t1'],
    ['SELECT number FROM view(SELECT number FROM numbers(1)) WHERE number IN (SELECT 0)', '0'],
    [
      'SELECT count() FROM numbers(2) GROUP BY GROUPING SETS ((number), ()) ORDER BY (1) LIMIT (1)',
      '1',
    ],
  ] as const) {
    t.equal(await asReader(statement), `${result}\n`, statement)
  }
})

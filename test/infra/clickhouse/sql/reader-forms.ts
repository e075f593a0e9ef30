/** Places of an expression in a statement; `E` is the expression, `N` a name that is called without brackets. */
export const places = {
  list: 'SELECT E',
  alias: 'SELECT E AS y, y',
  distinct: 'SELECT DISTINCT E',
  distinctOn: 'SELECT DISTINCT ON (E) n FROM shown',
  top: 'SELECT n FROM shown LIMIT length(E)',
  offset: 'SELECT n FROM shown LIMIT 1 OFFSET length(E) - length(E)',
  limitBy: 'SELECT n FROM shown LIMIT 1 BY E',
  limitByMany: 'SELECT n FROM shown LIMIT 1, 2 BY n, E',
  where: "SELECT n FROM shown WHERE E != ''",
  prewhere: "SELECT x FROM beneath PREWHERE E != ''",
  having: "SELECT count() FROM shown HAVING any(E) != ''",
  qualify: "SELECT n FROM shown QUALIFY row_number() OVER (ORDER BY n) = 1 AND E != ''",
  groupBy: 'SELECT E FROM shown GROUP BY E',
  groupingSets: 'SELECT any(n) FROM shown GROUP BY GROUPING SETS ((E), (n))',
  rollup: 'SELECT E AS y FROM shown GROUP BY y WITH ROLLUP',
  orderBy: 'SELECT n FROM shown ORDER BY E',
  fill: 'SELECT n FROM shown ORDER BY n WITH FILL FROM length(E)',
  fillStep: 'SELECT n FROM shown ORDER BY n WITH FILL STEP length(E)',
  interpolate: 'SELECT n, E AS y FROM shown ORDER BY n WITH FILL INTERPOLATE (y AS E)',
  window:
    'SELECT count() OVER w, any(y) FROM (SELECT n, E AS y FROM shown) WINDOW w AS (PARTITION BY E)',
  over: 'SELECT count() OVER (PARTITION BY E ORDER BY E) FROM shown',
  frame: 'SELECT any(E) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM shown',
  argument: 'SELECT upper(E)',
  operator: "SELECT E || 'x'",
  ternary: "SELECT n > 0 ? E : 'x' FROM shown",
  caseWhen: "SELECT CASE WHEN n > 0 THEN E ELSE 'x' END FROM shown",
  caseOf: "SELECT CASE E WHEN 'x' THEN 1 ELSE 2 END",
  cast: 'SELECT CAST(E AS String), E::String',
  between: "SELECT E BETWEEN 'a' AND 'z'",
  like: "SELECT 'x' LIKE E, 'x' REGEXP E",
  inList: "SELECT 'x' IN (E, 'y')",
  inSelect: "SELECT 'x' IN (SELECT E)",
  tuple: 'SELECT (E, 1).1, tuple(E)',
  array: 'SELECT [E][1]',
  map: "SELECT map('a', E)['a'], {'a': E}",
  subselect: 'SELECT (SELECT E)',
  deep: 'SELECT * FROM (SELECT * FROM (SELECT (((E))) AS y))',
  lambda: "SELECT arrayMap(x -> E, ['a'])",
  lambdaOf: "SELECT arrayFilter(x -> x != '', [E])",
  lambdaName: "SELECT arrayMap(N, ['C'])",
  lambdaFold: "SELECT arrayFold((a, x) -> E, ['a'], '')",
  apply: "SELECT * APPLY N FROM (SELECT 'C' AS x)",
  applyBrackets: "SELECT * APPLY(N) FROM (SELECT 'C' AS x)",
  applyLambda: "SELECT * APPLY (x -> E) FROM (SELECT 'C' AS x)",
  applyTwice: "SELECT * APPLY toString APPLY N FROM (SELECT 'C' AS x)",
  columns: "SELECT COLUMNS('x') APPLY N FROM (SELECT 'C' AS x)",
  columnsOf: "SELECT t.COLUMNS('x') APPLY(N) FROM (SELECT 'C' AS x) AS t",
  exceptApply: "SELECT * EXCEPT y APPLY N FROM (SELECT 'C' AS x, 1 AS y)",
  replace: "SELECT * REPLACE (E AS x) FROM (SELECT 'a' AS x)",
  withValue: 'WITH E AS y SELECT y',
  withSelect: 'WITH y AS (SELECT E AS z) SELECT z FROM y',
  withScalar: 'WITH (SELECT E) AS y SELECT y',
  withLambda: "WITH x -> E AS f SELECT f('a')",
  withName: "WITH N AS f SELECT f('C')",
  withRecursive:
    'WITH RECURSIVE r AS (SELECT E AS z UNION ALL SELECT z FROM r WHERE 0) SELECT z FROM r',
  arrayJoin: 'SELECT y FROM shown ARRAY JOIN [E] AS y',
  leftArrayJoin: 'SELECT y FROM shown LEFT ARRAY JOIN [E] AS y, [1] AS z',
  arrayJoinCall: 'SELECT arrayJoin([E])',
  joinOn: 'SELECT a.n FROM shown AS a JOIN (SELECT E AS y, 11 AS n) AS b ON a.n = b.n AND E = b.y',
  crossJoin: 'SELECT y FROM shown, (SELECT E AS y) AS b',
  union: "SELECT 'a' AS y UNION ALL SELECT E",
  except: "SELECT E EXCEPT SELECT 'a'",
  fromFirst: 'FROM shown SELECT E',
  brackets: '(SELECT E)',
  values: "SELECT * FROM values('y String', (E), ('x'))",
  numbers: 'SELECT number FROM numbers(length(E))',
  view: 'SELECT * FROM view(SELECT E AS y)',
  explain: 'EXPLAIN SELECT E',
  explainAst: 'EXPLAIN AST SELECT E',
  explainSyntax: 'EXPLAIN SYNTAX SELECT E',
  explainTree: 'EXPLAIN QUERY TREE SELECT E',
  explainPipeline: 'EXPLAIN PIPELINE SELECT E',
  explainEstimate: 'EXPLAIN ESTIMATE SELECT E FROM beneath',
  explainInside: 'SELECT * FROM (EXPLAIN SELECT E)',
  describe: 'DESCRIBE (SELECT E)',
  showWhere: 'SHOW TABLES WHERE E',
  showLike: 'SHOW TABLES LIKE E',
  showColumns: 'SHOW COLUMNS FROM shown WHERE field != E',
  showFunctions: 'SHOW FUNCTIONS LIKE E',
  settings: 'SELECT n FROM shown SETTINGS max_threads = E',
  settingsOf: 'SELECT n FROM (SELECT n FROM shown SETTINGS log_comment = E)',
  filter: "SELECT count() FILTER (WHERE E != '') FROM shown",
  aggregate: 'SELECT groupArray(E) FROM shown',
  aggregateIf: "SELECT anyIf(n, E != '') FROM shown",
  aggregateParameter: 'SELECT quantile(length(E))(n) FROM shown',
  interval: 'SELECT now() + INTERVAL length(E) DAY > now()',
  typeParameter: "SELECT CAST(1, concat('DateTime(', E, ')'))",
  parameter: 'SELECT {p:String}, E',
  parameterType: 'SELECT {p:Array(String)}',
  defaultOf: "SELECT * FROM format(JSONEachRow, 'y String DEFAULT E', '{}')",
  grouping: 'SELECT E, GROUPING(n) FROM shown GROUP BY n',
  format: 'SELECT E FORMAT JSON',
  intoOutfile: "SELECT E INTO OUTFILE 'W' FORMAT TSV",
} as const satisfies Readonly<Record<string, string>>

/** Places of a table; `T` is the table. */
export const tablePlaces = {
  from: 'SELECT * FROM T LIMIT 3',
  fromFinal: 'SELECT * FROM T AS a FINAL LIMIT 3',
  fromSample: 'SELECT * FROM T SAMPLE 1 LIMIT 3',
  fromFirst: 'FROM T SELECT * LIMIT 3',
  bare: 'FROM T LIMIT 3',
  join: 'SELECT * FROM shown AS a CROSS JOIN T AS b LIMIT 3',
  joinUsing: 'SELECT * FROM shown JOIN T USING n LIMIT 3',
  comma: 'SELECT * FROM shown, T LIMIT 3',
  inTable: 'SELECT 1 IN T',
  globalIn: 'SELECT 1 GLOBAL IN T',
  inSelect: 'SELECT 1 IN (SELECT * FROM T)',
  exists: 'SELECT EXISTS (SELECT * FROM T)',
  existsTable: 'EXISTS TABLE T',
  scalar: 'SELECT (SELECT * FROM T LIMIT 1)',
  withTable: 'WITH y AS (SELECT * FROM T) SELECT * FROM y LIMIT 3',
  deep: 'SELECT * FROM (SELECT * FROM (SELECT * FROM T)) LIMIT 3',
  union: 'SELECT toString(n) FROM shown UNION ALL SELECT * FROM T',
  view: 'SELECT * FROM view(SELECT * FROM T) LIMIT 3',
  arrayJoin: 'SELECT * FROM T ARRAY JOIN [1] AS y LIMIT 3',
  describe: 'DESCRIBE TABLE T',
  describeBare: 'DESC T',
  describeSelect: 'DESCRIBE (SELECT * FROM T)',
  explain: 'EXPLAIN SELECT * FROM T',
  explainPlan: 'EXPLAIN PLAN header = 1, actions = 1 SELECT * FROM T',
  explainTree: 'EXPLAIN QUERY TREE SELECT * FROM T',
  showCreate: 'SHOW CREATE TABLE T',
  showColumns: 'SHOW COLUMNS FROM T',
  showIndex: 'SHOW INDEX FROM T',
  insertInto: 'INSERT INTO FUNCTION T SELECT 1',
  insertSelect: 'INSERT INTO shown SELECT * FROM T',
  createAs: 'CREATE TEMPORARY TABLE y AS T',
  createView: 'CREATE VIEW y AS SELECT * FROM T',
  outfile: "SELECT * FROM T INTO OUTFILE 'W'",
  cluster: 'SELECT * FROM cluster(default, T) LIMIT 3',
  loop: 'SELECT * FROM loop(T) LIMIT 3',
  viewIf: "SELECT * FROM viewIfPermitted(SELECT * FROM T ELSE null('x String')) LIMIT 3",
} as const satisfies Readonly<Record<string, string>>

export type Random = () => number

export function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T
}

/** Replaces the letters of a place, each only where it is a word of its own. */
export function fill(place: string, parts: Readonly<Record<string, string>>): string {
  return place.replace(/\b[CENTW]\b/g, (letter) => parts[letter] ?? letter)
}

const noise = [
  ' ',
  '  ',
  '\n',
  '\t',
  ' /* x */ ',
  " /* ' */ ",
  ' -- x\n',
  ' # x\n',
  " -- '\n",
  '\u00a0',
  '\u3000',
]

/** Other spellings of the same statement: comments, white space, letters, brackets, a semicolon. */
export function disguise(random: Random, sql: string): string {
  const how = Math.floor(random() * 6)
  if (how === 0) return sql.replace(/ (?=(?:[^']*'[^']*')*[^']*$)/g, () => pick(random, noise))
  if (how === 1) return sql.replace(/\b(?:SELECT|FROM|WHERE|APPLY|WITH|AS)\b/g, mixed(random))
  if (how === 2) return `${sql}${pick(random, [';', ' ;', ';;', '; -- x', '\n;\n', ' /* x */'])}`
  if (how === 3) return `${pick(random, ['/**/', '--\n', '\n', '\u00a0', '#!x\n'])}${sql}`
  if (how === 4) return `SELECT $a$ ' $a$, '\\'' ; ${sql}`
  return sql
}

function mixed(random: Random): (word: string) => string {
  return (word) =>
    [...word].map((letter) => (random() < 0.5 ? letter.toLowerCase() : letter)).join('')
}

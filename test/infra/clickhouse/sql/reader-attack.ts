import { disguise, fill, pick, places, type Random, tablePlaces } from './reader-forms.js'

/** What a reader must not reach. */
interface Secret {
  readonly canary: string
  readonly url: string
  readonly host: string
  /** A file that must not come to be. */
  readonly written: string
}

/** Names that the engine has. */
interface Names {
  readonly functions: readonly string[]
  readonly tableFunctions: readonly string[]
  readonly settings: readonly string[]
  readonly formats: readonly string[]
}

export interface Attack {
  readonly query: string
  readonly search?: Record<string, string>
  readonly headers?: Record<string, string>
  readonly form?: Record<string, string>
}

const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** Makes attacks through the text, the URL, the headers or a form, from all names of the engine. */
export function createAttacks(
  random: Random,
  { canary, url, host, written }: Secret,
  { functions, tableFunctions, settings, formats }: Names,
): () => Attack {
  const secrets = [canary, url]

  /** Arguments that make a function or a table function reach what it should not. */
  const argumentsOf = (path: string): readonly string[] => [
    quote(path),
    `${quote(path)}, 'CSV', 'a String'`,
    `1, ${quote(path)}`,
    `now(), ${quote(path)}`,
    `'%F', ${quote(path)}`,
    `${quote(host)}, 'default', 'hidden', 'u', 'p'`,
    `${quote(host)}, default.hidden`,
    "'default', 'hidden'",
    "'default.hidden', 'x', 1",
    `'a String DEFAULT file(${quote(quote(path))})', ('x', 'y')`,
  ]

  /** A spelling of a name that the engine takes for the same. */
  const spelled = (name: string) =>
    pick(random, [name, name, name, name.toUpperCase(), `\`${name}\``, `"${name}"`])

  function expression(): Record<'C' | 'E' | 'N' | 'W', string> {
    const name = spelled(random() < 0.3 ? 'file' : pick(random, functions))
    const path = pick(random, secrets)
    const call = `${name}(${pick(random, argumentsOf(path))})`
    const E = pick(random, [
      call,
      call,
      `upper(${call})`,
      `${name}${pick(random, ['\n', '/**/', ' '])}(${quote(path)})`,
    ])
    return { E, N: name, C: path, W: written }
  }

  const tables = [
    'default.hidden',
    'hidden',
    '`hidden`',
    'system.processes',
    'system.user_processes',
    'system.users',
    'system.grants',
    'system.errors',
    'system.server_settings',
    'system.detached_parts',
    'system.remote_data_paths',
    'INFORMATION_SCHEMA.TABLES',
    quote(canary),
    `\`${canary}\``,
    `"${canary}"`,
    `file.\`${canary}\``,
    `\`${url}\``,
    '{p:Identifier}',
  ]

  function table(): string {
    if (random() < 0.2) return pick(random, tables)
    const name = spelled(pick(random, tableFunctions))
    const inner = random() < 0.1 ? `, SETTINGS ${pick(random, settings)} = ${quote(canary)}` : ''
    return `${name}(${pick(random, argumentsOf(pick(random, secrets)))}${inner})`
  }

  const settingValues = [
    canary,
    url,
    host,
    `file('${canary}') != ''`,
    `{'default.shown': 'file(\\'${canary}\\') != 1'}`,
    `1, additional_result_filter = 'file(''${canary}'') != 1'`,
    `TSV; SELECT 'x' INTO OUTFILE '${written}'`,
  ]

  /** One attack through the text, the URL, the header or a form. */
  const kinds: readonly (() => Attack)[] = [
    () => ({ query: fill(pick(random, Object.values(places)), expression()) }),
    () => ({ query: fill(pick(random, Object.values(places)), expression()) }),
    () => ({ query: fill(pick(random, Object.values(tablePlaces)), { T: table(), W: written }) }),
    () => ({ query: fill(pick(random, Object.values(tablePlaces)), { T: table(), W: written }) }),
    () => {
      const [name, value] = [spelled(pick(random, settings)), pick(random, settingValues)]
      const clause = `SETTINGS ${name} = ${quote(value)}`
      return {
        query: pick(random, [
          `SELECT n FROM shown ${clause}`,
          `SELECT n FROM shown FORMAT Template ${clause}`,
          `SELECT n FROM (SELECT n FROM shown ${clause})`,
          `SELECT n FROM shown ${clause}, max_threads = 1 FORMAT ${pick(random, formats)}`,
          `SET ${name} = ${quote(value)}`,
          `EXPLAIN SELECT 1 ${clause}`,
        ]),
      }
    },
    () => ({
      query: `SELECT n FROM shown FORMAT ${pick(random, formats)}`,
      search: { [pick(random, settings)]: pick(random, settingValues) },
    }),
    () => ({
      query: pick(random, [
        `SELECT n FROM shown FORMAT ${pick(random, formats)}`,
        `SELECT * FROM format(${pick(random, formats)}, ${quote(canary)})`,
        `SELECT * FROM format(${pick(random, formats)}, 'a String DEFAULT file(${quote(quote(canary))})', '1')`,
        `DESCRIBE format(${pick(random, formats)}, ${quote(url)})`,
      ]),
      search: { format_schema: `${canary}:M` },
    }),
    () => {
      const value = pick(random, [
        ...settingValues,
        `${pick(random, formats)}; DESCRIBE TABLE url('${url}')`,
        pick(random, formats),
      ])
      const where = pick(random, [
        'format',
        'user',
        'database',
        'quota',
        'query-id',
        'setting-max_threads',
        'role',
        'key',
      ])
      return { query: 'SELECT n FROM shown', headers: { [`X-ClickHouse-${where}`]: value } }
    },
    () => ({
      query: 'SELECT n FROM shown',
      search: {
        [pick(random, [
          'default_format',
          'database',
          'query_id',
          'session_id',
          'role',
          'profile',
          'quota_key',
          'user',
          'log_comment',
          'compress',
          'decompress',
          'client_protocol_version',
          'http_response_buffer_size',
          'stacktrace',
        ])]: pick(random, [...settingValues, 'system', 'writer', "x' OR 1 --"]),
      },
    }),
    () => {
      const type = pick(random, [
        'String',
        'Identifier',
        'Array(String)',
        `DateTime(${quote(canary)})`,
        'AggregateFunction(file, String)',
        `Enum8('x' = 1)`,
        'JSON',
        'Dynamic',
      ])
      const value = pick(random, [
        canary,
        url,
        'hidden',
        'system.processes',
        'file',
        `'), file('${canary}`,
        `['${canary}']`,
      ])
      const query = pick(random, [
        `SELECT {p:${type}}`,
        `SELECT * FROM {p:${type}}`,
        `SELECT {p:${type}}('${canary}')`,
        `SELECT file({p:${type}})`,
        `SELECT arrayMap({p:${type}}, ['${canary}'])`,
        `SELECT * APPLY {p:${type}} FROM (SELECT '${canary}' AS x)`,
        `SELECT n FROM shown LIMIT {p:${type}}`,
        `SELECT n FROM shown SETTINGS format_schema = {p:${type}}`,
        `DESCRIBE TABLE file({p:${type}})`,
      ])
      return random() < 0.5
        ? { query, search: { param_p: value } }
        : { query: '', form: { query, param_p: value } }
    },
  ]
  return () => {
    const made = pick(random, kinds)()
    return { ...made, query: disguise(random, made.query) }
  }
}

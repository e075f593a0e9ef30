/**
 * What a statement does, and to which tables, without its columns, conditions and values: `INSERT INTO
 * restatement FROM staging_*_final, usage_read`. Tables of one file or one run have `*` for its number.
 * Undefined for a text that is not SQL.
 */
export function shapeOf(text: string): string | undefined {
  const clean = text
    .replace(stagedTables, '$1$2 JOIN $1$3')
    .replace(/'(?:[^'\\]|\\.|'')*'/g, "''")
    .replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, ' ')
    .replace(/[`"]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
  const verb = /^\(*(\w+)/.exec(clean)?.[1]?.toUpperCase()
  if (verb === undefined || !(verb in shapes || verb in reads)) return undefined
  if (verb in reads) return `SELECT${readFrom(clean)}`
  return shapes[verb as keyof typeof shapes](clean)
}

/** Two staging tables of a file that are read as one. */
const stagedTables = /\bmerge\(currentDatabase\(\), '\^(staging_\d+_)\((\w+)\|(\w+)\)\$'\)/g

const reads = { SELECT: true, WITH: true, EXPLAIN: true, DESCRIBE: true, SHOW: true, EXISTS: true }

const target = (pattern: RegExp, text: string) => named(pattern.exec(text)?.[1] ?? '')

const shapes = {
  INSERT: (text: string) =>
    `INSERT INTO ${target(/INTO (?:TABLE )?([\w.]+)/i, text)}${readFrom(text)}`,
  CREATE: (text: string) => {
    const [, what = '', name = ''] =
      /^(CREATE (?:OR REPLACE )?\w+)(?: IF NOT EXISTS)? ([\w.]+)/i.exec(text) ?? []
    return /VIEW/i.test(what) ? `${what} ${named(name)}` : `${what} ${named(name)}${readFrom(text)}`
  },
  DROP: (text: string) => `DROP ${target(/^DROP \w+ (?:IF EXISTS )?([\w.]+)/i, text)}`,
  TRUNCATE: (text: string) => `TRUNCATE ${target(/TABLE (?:IF EXISTS )?([\w.]+)/i, text)}`,
  DELETE: (text: string) => `DELETE FROM ${target(/FROM ([\w.]+)/i, text)}`,
  ALTER: (text: string) => {
    const [, name = '', act = ''] =
      /^ALTER TABLE ([\w.]+) (?:ON CLUSTER \S+ )?(ATTACH PARTITION|DROP PARTITION|DELETE|UPDATE|MODIFY \w+|\w+ \w+)/i.exec(
        text,
      ) ?? []
    return `ALTER TABLE ${named(name)} ${act}${readFrom(text)}`
  },
  SYSTEM: (text: string) => `${/^SYSTEM [A-Z ]+[A-Z]/.exec(text)?.[0] ?? 'SYSTEM'}`,
  KILL: () => 'KILL QUERY',
  OPTIMIZE: (text: string) => `OPTIMIZE ${target(/TABLE ([\w.]+)/i, text)}`,
} as const

/** The tables that a statement reads, in the order of the alphabet; those read with FINAL say so. */
function readFrom(text: string): string {
  const own = new Set([...text.matchAll(/\b(\w+) AS \(/g)].map(([, name]) => name))
  const found = new Set<string>()
  for (const [, name = '', final = ''] of text.matchAll(readTable)) {
    if (!own.has(name)) found.add(named(name) + final)
  }
  return found.size === 0 ? '' : ` FROM ${[...found].sort().join(', ')}`
}

/** Behind FROM, JOIN or IN a name that is not a function's, perhaps an alias, perhaps FINAL. */
const readTable =
  /\b(?:FROM|JOIN|IN) ([a-z_][\w.]*)\b(?! ?\()(?: (?:AS )?(?!FINAL)[a-z]\w*)?( FINAL)?/g

/** A table's name without its database and without the number of its file, decision or run. */
function named(name: string): string {
  const bare = name.startsWith('system.') ? name : name.replace(/^\w+\./, '')
  return bare
    .replace(/^self_test_[0-9a-f]{32}$/, 'self_test_*')
    .replace(/^staging_\d+_([a-z]+)(?:_\d+)*$/, 'staging_*_$1')
    .replace(
      /^bill_(cycle|member|vector|projected|last|mask|billed|variant|step|compared|forgotten)_\d+\w*$/,
      'bill_$1_*',
    )
}

import type { Chunk } from '../../schemas/manifest.js'
import type { Statement } from '../store/clickhouse.js'
import { lineBounds, stagingOf, versionOf } from '../store/staging.js'
import { stampsMax } from './timestamps.js'

/**
 * Where the engine finds the rows of a chunk. `lines` takes each line as it stands and is the
 * fastest; `csv` understands quotes. Both leave the work to one thread, in the order of the file,
 * so that a row's line is known from its number.
 */
export type Reader = 'lines' | 'csv'

/** How the bytes get to the engine: a path that it can read itself, or the body of the request. */
export type Handing = { readonly path: string } | { readonly body: true }

const structures = {
  lines: 'line String',
  csv: 'c1 String, c2 String, c3 String, c4 String, c5 String',
} as const satisfies Record<Reader, string>

const formats = { lines: 'LineAsString', csv: 'CSV' } as const satisfies Record<Reader, string>

/** One array of columns for each row; a carriage return stays with the last. */
const columns = {
  lines: `splitByChar(',', line)`,
  csv: '[c1, c2, c3, c4, c5]',
} as const satisfies Record<Reader, string>

/** CSV as RFC 4180 has it: no null text, no other quotes; a row of other than 5 columns fails. */
export const csvSettings = {
  format_csv_allow_single_quotes: 0,
  format_csv_null_representation: '\u0001',
  input_format_csv_allow_whitespace_or_tab_as_delimiter: 0,
  input_format_csv_trim_whitespaces: 0,
  input_format_csv_empty_as_default: 0,
  input_format_csv_allow_variable_number_of_columns: 0,
  input_format_csv_skip_first_lines: 0,
  input_format_csv_detect_header: 0,
  input_format_csv_use_default_on_bad_values: 0,
} as const

const idBytesMax = 64

/**
 * What is plainly a good row. The engine stores these and no others: whatever is not plain, good
 * or bad, is looked at by the row judge, the only place that knows the fine print.
 */
function plain(reader: Reader, options: JudgeOptions): string {
  const { negativeAllowed, chunk } = options
  if (chunk.shape === 'plain') return plainText(negativeAllowed)
  const ids = ['p[1]', 'p[2]', 'p[3]'].map(
    (id) => `length(${id}) BETWEEN 1 AND ${idBytesMax} AND ${id} = trimBoth(${id}, ' \\t')`,
  )
  const needles = reader === 'lines' ? `'+', 'E-', 'e-'` : `'+', 'E-', 'e-', '\\r'`
  const whole = reader === 'lines' ? 'line' : 'concat(c1, c2, c3)'
  const sign = negativeAllowed ? '-?' : ''
  const end = reader === 'lines' ? '\\r?' : ''
  return [
    'length(p) = 5',
    ...ids,
    `multiSearchAny(${whole}, [${needles}]) = 0`,
    `stamp != 0`,
    `match(p[5], '^${sign}(\\\\d{1,9}\\\\.?\\\\d{0,6}|\\\\.\\\\d{1,6})${end}$')`,
    'abs(q) <= {quantityMax:Decimal(18, 6)}',
  ].join('\n    AND ')
}

/**
 * The bytes of the chunk have shown already that its quantities are plain, and its identifiers but
 * for a blank before one.
 */
function plainText(negativeAllowed: boolean): string {
  const ids = ['p[1]', 'p[2]', 'p[3]'].map((id) => `length(${id}) BETWEEN 1 AND ${idBytesMax}`)
  const unindented = ['p[2]', 'p[3]'].map((id) => `NOT startsWith(${id}, ' ')`)
  return [
    'length(p) = 5',
    ...ids,
    ...unindented,
    `stamp != 0`,
    ...(negativeAllowed ? [] : ['q >= 0']),
    'abs(q) <= {quantityMax:Decimal(18, 6)}',
  ].join('\n    AND ')
}

/** Without the rows of the chunk that stand in a table. */
function left(table: string): string {
  return `
    AND {base:UInt64} + number NOT IN (
      SELECT version FROM ${table} WHERE version >= {from:UInt64} AND version < {to:UInt64})`
}

function from(reader: Reader, handing: Handing): string {
  const structure = structures[reader]
  return 'path' in handing
    ? `file({path:String}, ${formats[reader]}, '${structure}')`
    : `input('${structure}')`
}

export interface JudgeOptions {
  readonly arrival: number
  readonly chunk: Chunk
  readonly reader: Reader
  readonly handing: Handing
  readonly commodity: string
  readonly seconds: number
  readonly negativeAllowed: boolean
  readonly quantityMax: number
  /** Rows of the hour that the clock repeats go to a table of their own. */
  readonly into: 'reads' | 'repeats'
  /** Whether rows that stand there already are left out. */
  readonly again: boolean
}

/** What the engine can search for at once; few timestamps lie in a repeated hour. */
const needlesMax = 255

/**
 * Stores the plainly good rows of a chunk in a staging table, in one statement and one block. The
 * few of the repeated hour are searched for before lines are cut into columns.
 */
export function storePlainRows(options: JudgeOptions): Statement {
  const { arrival, chunk, reader, handing } = options
  const staging = stagingOf(arrival)
  const into = staging[options.into]
  const isSought = options.into === 'repeats' && reader === 'lines'
  return {
    sql: `INSERT INTO ${into}
  (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
   account_number, external_site_id, version)
WITH
  (SELECT groupArray((text, starts_at, local_day, local_hour))
   FROM (
     SELECT * FROM ${staging.stamps} FINAL
     WHERE (second_at != 0) = ${options.into === 'repeats' ? 1 : 0} ORDER BY text LIMIT ${stampsMax}
   )) AS stamps,
  stamps.1 AS texts, stamps.2 AS starts, stamps.3 AS days, stamps.4 AS hours
SELECT p[3], {commodity:String}, starts[stamp], {seconds:UInt32}, days[stamp], hours[stamp], q,
  p[1], p[2], {base:UInt64} + number
FROM (
  SELECT number, ${columns[reader]} AS p,
    transform(toLowCardinality(p[4]), texts, arrayEnumerate(texts), 0) AS stamp,
    toDecimal64OrZero(${chunk.crlf ? `trimRight(p[5], '\\r')` : 'p[5]'}, 6) AS q, ${reader === 'lines' ? 'line' : 'c1, c2, c3'}
  FROM (SELECT rowNumberInAllBlocks() AS number, * FROM ${from(reader, handing)})
  ${isSought ? `WHERE multiSearchAny(line, arraySlice(texts, 1, ${needlesMax}))` : ''}
)
WHERE ${plain(reader, options)}${options.again ? left(into) : ''}${formatTail(reader, handing)}`,
    parameters: {
      commodity: options.commodity,
      seconds: options.seconds,
      base: versionOf(arrival, chunk.line).toString(),
      ...(options.again && lineBounds(arrival, chunk.line, chunk.lines)),
      quantityMax: String(options.quantityMax),
      ...('path' in handing ? { path: handing.path } : {}),
    },
  }
}

/**
 * Gathers the different timestamps of a chunk, at most `stampsMax` of them; a row with a timestamp
 * beyond those is judged by itself.
 */
export function gatherStamps(options: {
  readonly arrival: number
  readonly chunk: Chunk
  readonly reader: Reader
  readonly handing: Handing
}): Statement {
  const { arrival, chunk, reader, handing } = options
  return {
    sql: `INSERT INTO ${stagingOf(arrival).texts}
SELECT DISTINCT p[4] AS text, {chunk:UInt32} AS chunk
FROM (SELECT ${columns[reader]} AS p FROM ${from(reader, handing)})
WHERE length(p) = 5 LIMIT ${stampsMax}${formatTail(reader, handing)}`,
    parameters: { chunk: chunk.chunk, ...('path' in handing ? { path: handing.path } : {}) },
  }
}

function formatTail(reader: Reader, handing: Handing): string {
  return 'path' in handing ? '' : `\nFORMAT ${formats[reader]}`
}

import { invisibleRanges, toCharacterClass } from '../../schemas/field.js'
import type { Chunk } from '../../schemas/manifest.js'
import { estimateLetter, qualityLetters } from '../../schemas/usage-row.js'
import { type Handed, handedRows, type Reader, readFormat } from '../handing.js'
import { isGroup } from '../ledger/file-state.js'
import type { Statement } from '../store/clickhouse.js'
import { id, join, literal, type Sql, sql, typed } from '../store/sql.js'
import { stagingOf } from '../store/staging.js'
import { lineBounds, versionOf, within } from '../store/versions.js'
import { timestampsMax } from './timestamps.js'

/** The columns that the engine reads; of CSV one more than the file has. */
function structureOf(reader: Reader, extraColumns: number): Sql {
  if (reader === 'lines') return sql`'line String'`
  const others = Array.from({ length: extraColumns + 2 }, (_, at) => `c${at + 5} Nullable(String)`)
  return sql`${literal(['c1 String, c2 String, c3 String, c4 String', ...others].join(', '))}`
}

/**
 * One array of columns for each row; a carriage return stays with the last. Columns that a row does
 * not have are null in CSV; of a row with another number of columns the array is empty. An extra column
 * with a quote may be a part of one: behind a blank a quote opens none for the engine.
 */
function columnsOf(reader: Reader, extraColumns: number): Sql {
  if (reader === 'lines') return sql`splitByChar(',', line)`
  const [last, next] = [id(`c${extraColumns + 5}`), id(`c${extraColumns + 6}`)]
  const behind = Array.from({ length: Math.min(extraColumns, statedMax) }, (_, at) => {
    return sql`, assumeNotNull(${id(`c${at + 6}`)})`
  })
  const others = Array.from({ length: extraColumns }, (_, at) => {
    return sql` OR position(${id(`c${at + 6}`)}, '"') != 0`
  })
  return sql`if(${last} IS NULL OR ${next} IS NOT NULL${join(others, sql``)}, [],
      [c1, c2, c3, c4, assumeNotNull(c5)${join(behind, sql``)}])`
}

/** Columns behind those of the feed that are read: the length and the quality. */
const statedMax = 2

/** Whether a row has the columns of its file. */
function hasColumns(reader: Reader, { arrival, extraColumns = 0 }: Columns): Sql {
  const version = isGroup(arrival) ? 1 : 0
  return sql`length(p) = ${literal(reader === 'lines' ? 5 + extraColumns + version : 5 + Math.min(extraColumns, statedMax))}`
}

type Columns = Pick<Reading, 'arrival' | 'extraColumns'>

const idBytesMax = literal(64)
const idColumns = [sql`p[1]`, sql`p[2]`, sql`p[3]`]
const idLengths = idColumns.map((column) => sql`length(${column}) BETWEEN 1 AND ${idBytesMax}`)

/** Invisible characters; in a line not the carriage return of its end. */
const [controls = '', ...invisible] = invisibleRanges
const unseen = {
  lines: `[${toCharacterClass(['0-c', 'e-1f', ...invisible], 'x')}]|\\r.`,
  csv: `[${toCharacterClass([controls, ...invisible], 'x')}]`,
} as const satisfies Record<Reader, string>
/** Before the letters and digits are the blank, `+`, `-` and controls; behind the digits `=` and `@`. */
const unsigned = idColumns.map((column) => sql`${column} >= '.'`)
const visible = [...unsigned, ...idColumns.map((column) => sql`NOT match(${column}, '^[=@]')`)]

/**
 * The condition of a clearly valid row. The engine stores these only; every other row, valid or not,
 * takes the row path, the only place that knows all rules.
 */
function plain(reader: Reader, options: JudgeOptions): Sql {
  const { negativeAllowed, chunk } = options
  if (chunk.format === 'plain') return plainText(options)
  const trimmed = idColumns.map((column) => sql`${column} = trimBoth(${column}, ' \\t')`)
  const needles = ['+', 'E-', 'e-']
  const whole = reader === 'lines' ? sql`line` : sql`concat(c1, c2, c3)`
  const sign = negativeAllowed ? '-?' : ''
  const end = reader === 'lines' ? '\r?' : ''
  const decimal = `^${sign}(\\d{1,9}(\\.\\d{1,6})?|\\.\\d{1,6})${end}$`
  return allOf(options, [
    ...idLengths,
    ...trimmed,
    sql`multiSearchAny(${whole}, ${literal(needles)}) = 0`,
    sql`NOT match(${whole}, ${literal(unseen[reader])})`,
    ...visible,
    sql`match(p[5], ${literal(decimal)})`,
    withinMax(options),
  ])
}

/**
 * The bytes of the chunk have shown already that its quantities are plain, and its identifiers but
 * for a blank or a sign before the second and third.
 */
function plainText(options: JudgeOptions): Sql {
  const notNegative = options.negativeAllowed ? [] : [sql`q >= 0`]
  return allOf(options, [...idLengths, ...unsigned.slice(1), ...notNegative, withinMax(options)])
}

function allOf(options: JudgeOptions, conditions: readonly Sql[]): Sql {
  const { chunk, reader } = options
  const { cutLine, line } = chunk
  const isWhole = cutLine === undefined ? [] : [sql`number < ${literal(cutLine - line)}`]
  const isStated = options.stated === true ? [sql`${secondsSql(options)} != 0`] : []
  const always = [hasColumns(reader, options), sql`timestamp != 0`, ...isStated, ...isWhole]
  return join([...always, ...conditions], sql`\n    AND `)
}

function withinMax({ quantityMax }: JudgeOptions): Sql {
  return sql`abs(q) <= ${typed('Decimal(18, 6)', String(quantityMax))}`
}

/** The version of a row: by its number among the rows of the chunk; in a group it is the last column. */
function versionSql({ arrival, chunk, extraColumns = 0 }: Columns & Pick<Reading, 'chunk'>): Sql {
  if (isGroup(arrival)) return sql`toUInt64(p[${literal(6 + extraColumns)}])`
  return sql`${typed('UInt64', versionOf(arrival, chunk.line))} + number`
}

/** The length of a read: of the file, or as its row states it. */
function secondsSql({ seconds, stated = false }: JudgeOptions): Sql {
  return stated ? sql`toUInt32OrZero(p[6])` : typed('UInt32', seconds)
}

/** The quality that a row states, and whether it yields. */
function qualitySql({ yields }: JudgeOptions): Sql {
  const names = Object.entries(qualityLetters).map(
    ([letter, name]) => sql`p[7] = ${literal(letter)}, ${literal(name)}`,
  )
  const isEstimate = yields ? sql`p[7] = ${literal(estimateLetter)}` : sql`false`
  return sql`, multiIf(${join(names, sql`, `)}, 'asSent'), ${isEstimate}`
}

/** Without the rows of the chunk that are in a table already. */
function left(table: string, options: JudgeOptions): Sql {
  const { arrival, chunk } = options
  const bounds = lineBounds({ arrival, ...chunk })
  return sql`
    AND ${versionSql(options)} NOT IN (
      SELECT version FROM ${id(table)} WHERE ${within(sql`version`, bounds)})`
}

/** How the engine reads a chunk. */
interface Reading extends Handed {
  readonly arrival: number
  readonly chunk: Chunk
  /** How many columns behind those of the feed are ignored. */
  readonly extraColumns?: number | undefined
}

export interface JudgeOptions extends Reading {
  readonly commodity: string
  readonly seconds: number
  /** Whether the column behind those of the feed states the length of each read. */
  readonly stated?: boolean | undefined
  /** Whether the column behind that states its quality. */
  readonly qualities?: boolean | undefined
  /** Whether estimates yield to other reads. */
  readonly yields: boolean
  readonly negativeAllowed: boolean
  readonly quantityMax: number
  /** Rows of the hour that the clock repeats go to a table of their own. */
  readonly into: 'reads' | 'repeats'
  /** Whether rows that are there already are left out. */
  readonly again: boolean
}

/** What the engine can search for at once; few timestamps lie in a repeated hour. */
const needlesMax = 255

/**
 * Stores the clearly valid rows of a chunk in a staging table, in one statement and one block. The
 * few of the repeated hour are searched for before lines are cut into columns.
 */
export function storeInBulk(options: JudgeOptions): Statement {
  const { chunk, arrival, reader, extraColumns = 0 } = options
  const structure = structureOf(reader, extraColumns)
  const qualities = options.qualities === true ? qualitySql(options) : undefined
  const staging = stagingOf(arrival)
  const into = staging[options.into]
  const isSought = options.into === 'repeats' && reader === 'lines'
  return {
    sql: sql`INSERT INTO ${id(into)}
  (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
   account_number, external_site_id, version${qualities === undefined ? sql`` : sql`, quality, yields`})
WITH
  (SELECT groupArray((text, starts_at, local_day, local_hour))
   FROM (
     SELECT * FROM ${id(staging.timestamps)} FINAL
     WHERE (second_at != 0) = ${literal(options.into === 'repeats')} ORDER BY text LIMIT ${literal(timestampsMax)}
   )) AS timestamps,
  timestamps.1 AS texts, timestamps.2 AS starts, timestamps.3 AS days, timestamps.4 AS hours
SELECT p[3], ${options.commodity}, starts[timestamp], ${secondsSql(options)}, days[timestamp], hours[timestamp], q,
  p[1], p[2], ${versionSql(options)}${qualities ?? sql``}
FROM (
  SELECT number, ${columnsOf(reader, extraColumns)} AS p,
    transform(toLowCardinality(p[4]), texts, arrayEnumerate(texts), 0) AS timestamp,
    toDecimal64OrZero(${chunk.crlf ? sql`trimRight(p[5], '\\r')` : sql`p[5]`}, 6) AS q,
    ${reader === 'lines' ? sql`line` : sql`c1, c2, c3`}
  FROM (SELECT rowNumberInAllBlocks() AS number, * FROM ${handedRows(options, structure)})
  ${isSought ? sql`WHERE multiSearchAny(line, arraySlice(texts, 1, ${literal(needlesMax)}))` : sql``}
)
WHERE ${plain(reader, options)}${options.again ? left(into, options) : sql``}${readFormat(options)}`,
  }
}

/**
 * Gathers the different timestamps of a chunk, at most `timestampsMax` of them; a row with a
 * timestamp beyond those is judged by itself.
 */
export function gatherTimestamps(options: Reading): Statement {
  const { arrival, chunk, reader, extraColumns = 0 } = options
  const structure = structureOf(reader, extraColumns)
  return {
    sql: sql`INSERT INTO ${id(stagingOf(arrival).texts)}
SELECT DISTINCT p[4] AS text, ${typed('UInt32', chunk.chunk)} AS chunk
FROM (SELECT ${columnsOf(reader, extraColumns)} AS p FROM ${handedRows(options, structure)})
WHERE ${hasColumns(reader, options)} LIMIT ${literal(timestampsMax)}${readFormat(options)}`,
  }
}

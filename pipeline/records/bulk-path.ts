import type { PlainRows, RecordFeed } from '../../schemas/record-feed.js'
import { storeColumn } from '../../schemas/record-feed.js'
import type { PlainTexts } from '../../schemas/record-value.js'
import type { PipelineContext } from '../context.js'
import {
  type Handed,
  hand,
  handedRows,
  handingOf,
  isRefused,
  type Reader,
  readFormat,
} from '../handing.js'
import type { LoadTask } from '../kind.js'
import type { Statement } from '../store/clickhouse.js'
import { id, join, literal, type Sql, sql, typed } from '../store/sql.js'
import { stagingOf } from '../store/staging.js'
import { versionOf } from '../store/versions.js'

/**
 * Bulk path: the engine stores the plain rows of a chunk in one block, and reads the values out of their
 * texts. Returns how many, where it says so. Where it refuses the quotes it stores none.
 */
export async function storePlain(
  context: PipelineContext,
  task: LoadTask,
  by: { readonly feed: RecordFeed; readonly plain: PlainRows; readonly reader: Reader },
): Promise<number | undefined> {
  const { reader } = by
  const statement = insertPlain(task, { ...by, handing: handingOf(context, task) })
  const token = 'plain-records'
  return hand(context, task, { statement, reader, token }).catch((error: unknown) => {
    if (isRefused(error, reader)) return 0
    throw error
  })
}

interface Storing extends Handed {
  readonly feed: RecordFeed
  readonly plain: PlainRows
}

function insertPlain(task: LoadTask, { feed, plain, ...handed }: Storing): Statement {
  const { arrival, chunk, columns: header = feed.columns, extraColumns = 0 } = task
  const { reader } = handed
  const columns = createColumns(reader, header.length + extraColumns)
  const textOf = (name: string) => {
    const at = header.indexOf(name)
    return at === -1 ? undefined : columns.at(at)
  }
  const conditions = [columns.isWhole]
  const values: Sql[] = []
  for (const [name, texts] of plain.columns) {
    const text = textOf(name)
    values.push(storedValue(text, texts))
    if (text !== undefined) conditions.push(...plainText(text, texts))
  }
  for (const [start, end] of plain.orders) {
    const [from, to] = [start, end].map((name) => textOf(name) ?? sql`''`) as [Sql, Sql]
    conditions.push(sql`(${to} = '' OR ${from} <= ${to})`)
  }
  // Behind a blank a quote opens no column for the engine, which then sees one more.
  for (let at = header.length; reader === 'csv' && at < header.length + extraColumns; at++) {
    conditions.push(sql`position(${columns.at(at)}, '"') = 0`)
  }
  const { cutLine, line } = chunk
  if (cutLine !== undefined) conditions.push(sql`number < ${literal(cutLine - line)}`)
  const names = [...feed.columns.map(storeColumn), 'version'].map((name) => id(name))
  return {
    sql: sql`INSERT INTO ${id(stagingOf(arrival).reads)} (${join(names, sql`, `)})
SELECT ${join(values, sql`, `)}, ${typed('UInt64', versionOf(arrival, line))} + number
FROM (SELECT rowNumberInAllBlocks() AS number, ${columns.split} FROM ${handedRows(handed, columns.structure)})
WHERE ${join(conditions, sql`\n  AND `)}${readFormat(handed)}`,
  }
}

/** How a row is taken apart into so many columns. */
interface Columns {
  readonly structure: Sql
  readonly split: Sql
  /** Whether a row has as many. */
  readonly isWhole: Sql
  /** The text of the column at a position. */
  readonly at: (position: number) => Sql
}

function createColumns(reader: Reader, count: number): Columns {
  if (reader === 'lines') {
    const line = sql`substring(line, 1, length(line) - endsWith(line, '\\r'))`
    return {
      structure: sql`'line String'`,
      split: sql`splitByChar(',', ${line}) AS p`,
      isWhole: sql`length(p) = ${literal(count)}`,
      at: (position) => sql`p[${literal(position + 1)}]`,
    }
  }
  // Columns that a row does not have are null.
  const types = Array.from({ length: count + 1 }, (_, at) => {
    return `c${at + 1} ${at + 1 < count ? 'String' : 'Nullable(String)'}`
  })
  const [last, next] = [id(`c${count}`), id(`c${count + 1}`)]
  return {
    structure: literal(types.join(', ')),
    split: sql`*`,
    isWhole: sql`${last} IS NOT NULL AND ${next} IS NULL`,
    at: (position) => sql`assumeNotNull(${id(`c${position + 1}`)})`,
  }
}

/** What the engine reads the value of a column from; a column that the file does not have is absent. */
function storedValue(text: Sql | undefined, { absent }: PlainTexts): Sql {
  const nothing = absent == null ? sql`NULL` : literal(absent)
  if (text === undefined) return nothing
  if (absent === undefined || absent === '') return text
  return sql`if(${text} = '', ${nothing}, ${text})`
}

function plainText(text: Sql, { pattern, bytesMax, absent }: PlainTexts): readonly Sql[] {
  const whole = `^(?:${pattern})${absent === undefined ? '' : '?'}$`
  const matches = sql`match(${text}, ${literal(whole)})`
  return bytesMax === undefined
    ? [matches]
    : [matches, sql`length(${text}) <= ${literal(bytesMax)}`]
}

import { createReadStream } from 'node:fs'
import { Fault } from '../schemas/fault.js'
import type { Chunk } from '../schemas/manifest.js'
import type { PipelineContext } from './context.js'
import { chunkPath } from './files/landing.js'
import type { LoadTask } from './kind.js'
import type { Statement } from './store/clickhouse.js'
import { type Sql, sql } from './store/sql.js'
import { onceSettings } from './store/staging.js'

/**
 * How the engine reads the rows of a chunk. `lines` takes each line as it stands and is the
 * fastest; `csv` understands quotes. Both leave the work to one thread, in the order of the file,
 * so that a row's line is known from its number.
 */
export type Reader = 'lines' | 'csv'

/** How a chunk can be read by the engine; undefined where it cannot. */
export function readerOf({ format }: Pick<Chunk, 'format'>): Reader | undefined {
  if (format === 'unsplittable') return undefined
  return format === 'quoted' ? 'csv' : 'lines'
}

/** How the bytes get to the engine: a path that it can read itself, or the body of the request. */
export type Handing = { readonly path: string } | { readonly body: true }

export function handingOf(context: PipelineContext, task: LoadTask): Handing {
  return context.storeLanding === undefined
    ? { body: true }
    : { path: chunkPath(context.storeLanding, task) }
}

export interface Handed {
  readonly reader: Reader
  readonly handing: Handing
}

const formats = { lines: sql`LineAsString`, csv: sql`CSV` } as const satisfies Record<Reader, Sql>

/** The rows of a chunk, as a table with this structure. */
export function handedRows({ reader, handing }: Handed, structure: Sql): Sql {
  return 'path' in handing
    ? sql`file(${handing.path}, ${formats[reader]}, ${structure})`
    : sql`input(${structure})`
}

/** What a statement ends with that reads a chunk. */
export function readFormat({ reader, handing }: Handed): Sql {
  return 'path' in handing ? sql`` : sql`\nFORMAT ${formats[reader]}`
}

/**
 * CSV as RFC 4180 has it: no other quotes, and no text that is null, since no file has a NUL byte. The
 * engine overlooks a delimiter at the end of a row with the columns that are asked for, so it is
 * asked for one more.
 */
const csvSettings = {
  format_csv_allow_single_quotes: 0,
  format_csv_null_representation: '\u0000',
  input_format_csv_allow_whitespace_or_tab_as_delimiter: 0,
  input_format_csv_trim_whitespaces: 0,
  input_format_csv_empty_as_default: 0,
  input_format_csv_allow_variable_number_of_columns: 1,
  input_format_csv_skip_first_lines: 0,
  input_format_csv_detect_header: 0,
  input_format_csv_use_default_on_bad_values: 0,
} as const

interface Order {
  readonly statement: Statement
  readonly reader: Reader
  /** Names the insert among those of the chunk. */
  readonly token: string
}

/** Runs an insert that reads a chunk, and returns how many rows it says it has stored. A repeat stores none twice. */
export async function hand(
  context: PipelineContext,
  task: LoadTask,
  order: Order,
): Promise<number | undefined> {
  const { arrival, chunk } = task
  const once = onceSettings(`${order.token}-${arrival}-${chunk.line}-${chunk.rows}`)
  const settings = { ...(order.reader === 'csv' ? csvSettings : {}), ...once }
  const statement = { ...order.statement, settings }
  if (context.storeLanding !== undefined) return context.store.command(statement)
  return context.store.command(
    statement,
    createReadStream(chunkPath(context.folders.landing, task)),
  )
}

/** Whether the engine refused the quotes of a chunk, of which it has then stored nothing. */
export function isRefused(error: unknown, reader: Reader): boolean {
  return reader === 'csv' && error instanceof Fault && error.code === 'STORE_REFUSED'
}

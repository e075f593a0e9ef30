import { z } from 'zod'
import { trimBlanks } from './field.js'
import type { PlainTexts, RecordValue, RowJudge, ValueJudge, ValueProblem } from './record-value.js'

/** A usable row: column by column as the store takes it. */
export type RecordRow = Readonly<Record<string, RecordValue>>

/** What differs between the feeds of records; everything else is one line of steps for all. */
export interface RecordFeed {
  readonly name: string
  readonly kind: 'records'
  /** In the order of the header. */
  readonly columns: readonly string[]
  /** Those that a header may leave out. */
  readonly bracketed: readonly string[]
  /** How many decimals are kept of each column that holds a decimal. */
  readonly decimals: ReadonlyMap<string, number>
  /** Judges a row of trimmed texts by column. */
  readonly row: z.ZodType<RecordRow, Readonly<Record<string, string>>>
  /** The rows that it is sure to accept; undefined where it must see each. */
  readonly plain: PlainRows | undefined
  /** The view that data engineers query; the rows behind it lie in the table `<view>_row`. */
  readonly view: string
  /** The columns that a later row of the same values replaces. */
  readonly key: readonly string[]
  /** Whether its key does not name the account: a later row of it may be of another one. */
  readonly moves?: true
  /** The column whose sum is proved from the bytes to the store. */
  readonly total?: string
  /** The rows that replace none but their like, whichever comes first: those with a text in a column. */
  readonly yields?: { readonly column: string; readonly text: string }
  /** Whether its rows show when somebody began or ceased to hold a meter. */
  readonly shows?: 'starts' | 'ends'
  /** There where each file is complete and replaces the one before. */
  readonly schedule?: Schedule
}

/** Rows of plain texts. */
export interface PlainRows {
  readonly columns: ReadonlyMap<string, PlainTexts>
  readonly orders: readonly (readonly [start: string, end: string])[]
}

/** The sets of complete schedules. */
export type SetName = 'cycles' | 'rates'

export interface Schedule {
  /** Files of one set, company and day are judged and published as one. */
  readonly set: SetName
  /** The columns of a row's first and last day; a row without them ends with its file. */
  readonly starts?: string
  readonly ends?: string
  /** The column whose values have versions of their own; without it the file is one. */
  readonly code?: string
  /** Whether its rows may be of every year: the view has the days in which each applies. */
  readonly everyYear?: true
}

export type RecordFeedOptions = Omit<
  RecordFeed,
  'kind' | 'columns' | 'bracketed' | 'row' | 'plain' | 'decimals'
> & {
  /** How each column of the header is judged, in their order. */
  readonly columns: Readonly<Record<string, ValueJudge>>
  readonly bracketed?: readonly string[]
  /** Rules across columns. */
  readonly rules?: readonly RowJudge[]
  /** What a usable row says without spelling it. */
  readonly fill?: (row: RecordRow) => RecordRow
}

/**
 * Makes a feed of what is its own. Its row schema goes through the columns from left to right and
 * ends at the first that is wrong; one step for the whole row, since a file has millions of them.
 */
export function recordFeed(options: RecordFeedOptions): RecordFeed {
  const { columns, rules = [], fill = asItIs, ...own } = options
  const judges = Object.entries(columns)
  const row = z.custom<Readonly<Record<string, string>>>().transform((texts, context) => {
    const refuse = (column: string, { code, expected: message }: ValueProblem) => {
      const input = texts[column]
      context.issues.push({ code: 'custom', params: { code }, message, input, path: [column] })
      return z.NEVER
    }
    const values: Record<string, RecordValue> = {}
    for (const [name, judge] of judges) {
      const found = judge(texts[name] ?? '')
      if (found !== null && typeof found !== 'string') return refuse(name, found)
      values[name] = found
    }
    for (const judge of rules) {
      const found = judge(values)
      if (found !== undefined) return refuse(found.column, found)
    }
    return fill(values)
  })
  const decimals = new Map(
    judges.flatMap(([name, { decimals }]) => (decimals === undefined ? [] : [[name, decimals]])),
  )
  const plain = options.fill === undefined ? plainRows(columns, rules) : undefined
  const names = Object.keys(columns)
  return { bracketed: [], ...own, kind: 'records', columns: names, decimals, row, plain }
}

/** The plain rows of a feed of which each column and rule has plain texts. */
function plainRows(
  columns: RecordFeedOptions['columns'],
  rules: readonly RowJudge[],
): PlainRows | undefined {
  const texts = Object.entries(columns).flatMap(([name, { plain }]) =>
    plain === undefined ? [] : [[name, plain] as const],
  )
  const orders = rules.flatMap(({ order }) => (order === undefined ? [] : [order]))
  const isWhole = texts.length === Object.keys(columns).length && orders.length === rules.length
  return isWhole ? { columns: new Map(texts), orders } : undefined
}

function asItIs(row: RecordRow): RecordRow {
  return row
}

const renamed: Readonly<Record<string, string>> = { ContractAccount: 'account_number' }

/** The store's name of a column: snake_case, `ExternalSiteID` being `external_site_id`. */
export function storeColumn(name: string): string {
  const snake = name.replace(/ID$/, 'Id').replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`)
  return renamed[name] ?? snake.toLowerCase()
}

/** The columns of a header that are the feed's, and those behind them. */
export interface MatchedHeader {
  readonly columns: readonly string[]
  readonly extra: readonly string[]
}

/**
 * The columns of a header, which may leave out those in brackets; undefined if it is another's. A column
 * of the feed that is out of order is not an extra one.
 */
export function matchHeader(
  feed: { readonly columns: readonly string[]; readonly bracketed?: readonly string[] },
  found: readonly string[],
): MatchedHeader | undefined {
  const names = found.map((name) => name.trim().toLowerCase())
  const matched: string[] = []
  for (const column of feed.columns) {
    if (names[matched.length] === column.toLowerCase()) matched.push(column)
    else if (!feed.bracketed?.includes(column)) return undefined
  }
  const own = feed.columns.map((column) => column.toLowerCase())
  if (names.slice(matched.length).some((name) => own.includes(name))) return undefined
  return { columns: matched, extra: found.slice(matched.length).map((name) => name.trim()) }
}

export type RecordVerdict =
  | { readonly outcome: 'accepted'; readonly row: RecordRow }
  | {
      readonly outcome: 'rejected'
      readonly code: string
      readonly column: string
      readonly detail: string
    }

/** The columns that a file has. */
export interface FileColumns {
  /** Those of its feed. */
  readonly header: readonly string[]
  /** How many are behind them and ignored. */
  readonly extraColumns?: number | undefined
}

/**
 * Judges one row whose fields are unquoted but untrimmed, by the columns from left to right; the
 * first wrong column decides.
 */
export function judgeRecord(
  feed: RecordFeed,
  { header, extraColumns = 0 }: FileColumns,
  fields: readonly string[],
): RecordVerdict {
  const expected = header.length + extraColumns
  if (fields.length !== expected) {
    const code = fields.length < expected ? 'TOO_FEW_COLUMNS' : 'TOO_MANY_COLUMNS'
    const detail = `expected ${expected} columns, found ${fields.length}`
    return { outcome: 'rejected', code, column: '', detail }
  }
  const texts: Record<string, string> = {}
  for (const [at, name] of header.entries()) texts[name] = trimBlanks(fields[at] as string)
  const judged = feed.row.safeParse(texts)
  if (judged.success) return { outcome: 'accepted', row: judged.data }
  const [issue] = judged.error.issues
  return {
    outcome: 'rejected',
    code: String((issue as { params?: { code?: string } }).params?.code),
    column: String(issue?.path[0] ?? ''),
    detail: issue?.message ?? '',
  }
}

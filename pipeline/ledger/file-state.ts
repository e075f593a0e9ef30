import type { Manifest } from '../../schemas/manifest.js'
import type { Counted } from '../usage/overlap.js'

export const fileStatuses = [
  'received',
  'waiting',
  'publishing',
  'published',
  'quarantined',
  'duplicate',
  'replaced',
] as const
export type FileStatus = (typeof fileStatuses)[number]

/** What else the receipt says of a file. */
export interface Notes {
  readonly warnings?: readonly string[]
  readonly timestampFormat?: string
  readonly dateOrder?: 'MDY' | 'DMY' | 'mixed'
  readonly dateOrderProof?: string
  readonly repeatedHourRows?: number
  readonly roundedRows?: number
}

/** Rows or quantities by what became of them; the five others add up to `read`. */
export interface Outcomes<T> {
  readonly read: T
  readonly accepted: T
  readonly duplicate: T
  readonly superseded: T
  readonly rejected: T
  readonly unregistered: T
}

/** How far a file has come and all that its receipt says. Quantities are decimal strings. */
export interface FileState {
  readonly arrival: number
  readonly status: FileStatus
  readonly source: string
  readonly path: string
  readonly fileName: string
  readonly companyCode: string
  readonly fileDate: string | undefined
  readonly feed: string
  readonly fileId: string
  readonly bytes: number
  readonly manifest: Manifest
  readonly fault: string
  readonly reason: string
  readonly duplicateOf: number
  readonly rows: Outcomes<number>
  readonly quantity: Outcomes<string>
  /** Rows of a quarantined file that were not rejected: none of them is published. */
  readonly held: Counted
  readonly restated: { readonly rows: number; readonly netQuantity: string }
  readonly meters: number
  readonly firstIntervalStart: Date | undefined
  readonly lastIntervalEnd: Date | undefined
  readonly notes: Notes
  /** The staging table whose rows are published, once that is decided. */
  readonly attaches: string
  /** Whether reads of other files are replaced, which are written down first. */
  readonly restates: boolean
  readonly receivedAt: Date
  readonly publishedAt: Date | undefined
  readonly settledAt: Date | undefined
}

/** A state never goes back: of two rows of one arrival the higher rank counts, whoever was late. */
export function rankOf(state: FileState): number {
  const ranks = {
    received: 10,
    waiting: 20,
    publishing: 40,
    published: 50,
    quarantined: 50,
    duplicate: 50,
    replaced: 50,
  } as const satisfies Record<FileStatus, number>
  return ranks[state.status] + (state.settledAt === undefined ? 0 : 5)
}

export const noRows: Outcomes<number> = {
  read: 0,
  accepted: 0,
  duplicate: 0,
  superseded: 0,
  rejected: 0,
  unregistered: 0,
}

export const noQuantity: Outcomes<string> = {
  read: '0',
  accepted: '0',
  duplicate: '0',
  superseded: '0',
  rejected: '0',
  unregistered: '0',
}

/** A row of `file_state` as JSONEachRow has it: snake_case, big numbers as strings. */
export type StateRow = Readonly<Record<string, unknown>>

const outcomeNames = Object.keys(noRows) as (keyof Outcomes<unknown>)[]

export function toStateRow(state: FileState): StateRow {
  const flat = (prefix: string, outcomes: Outcomes<number | string>) =>
    Object.fromEntries(outcomeNames.map((name) => [`${prefix}_${name}`, outcomes[name]]))
  return {
    arrival: state.arrival,
    rank: rankOf(state),
    status: state.status,
    source: state.source,
    path: state.path,
    file_name: state.fileName,
    company_code: state.companyCode,
    file_date: state.fileDate ?? null,
    feed: state.feed,
    file_id: state.fileId,
    bytes: String(state.bytes),
    manifest: JSON.stringify(state.manifest),
    fault: state.fault,
    reason: state.reason,
    duplicate_of: state.duplicateOf,
    ...flat('rows', state.rows),
    ...flat('quantity', state.quantity),
    rows_held: state.held.rows,
    quantity_held: state.held.quantity,
    restated_rows: state.restated.rows,
    restated_net_quantity: state.restated.netQuantity,
    meters: state.meters,
    first_interval_start: state.firstIntervalStart?.toISOString() ?? null,
    last_interval_end: state.lastIntervalEnd?.toISOString() ?? null,
    notes: JSON.stringify(state.notes),
    attaches: state.attaches,
    restates: state.restates,
    received_at: state.receivedAt.toISOString(),
    published_at: state.publishedAt?.toISOString() ?? null,
    settled_at: state.settledAt?.toISOString() ?? null,
  }
}

export function fromStateRow(row: StateRow): FileState {
  const text = (name: string) => String(row[name] ?? '')
  const instant = (name: string) =>
    row[name] === null ? undefined : new Date(`${text(name).replace(' ', 'T')}Z`)
  const gather = <T>(prefix: string, convert: (value: string) => T) =>
    Object.fromEntries(
      outcomeNames.map((name) => [name, convert(text(`${prefix}_${name}`))]),
    ) as unknown as Outcomes<T>
  return {
    arrival: Number(row['arrival']),
    status: text('status') as FileStatus,
    source: text('source'),
    path: text('path'),
    fileName: text('file_name'),
    companyCode: text('company_code'),
    fileDate: row['file_date'] === null ? undefined : text('file_date'),
    feed: text('feed'),
    fileId: text('file_id'),
    bytes: Number(row['bytes']),
    manifest: JSON.parse(text('manifest')) as Manifest,
    fault: text('fault'),
    reason: text('reason'),
    duplicateOf: Number(row['duplicate_of']),
    rows: gather('rows', Number),
    quantity: gather('quantity', String),
    held: { rows: Number(row['rows_held']), quantity: text('quantity_held') },
    restated: { rows: Number(row['restated_rows']), netQuantity: text('restated_net_quantity') },
    meters: Number(row['meters']),
    firstIntervalStart: instant('first_interval_start'),
    lastIntervalEnd: instant('last_interval_end'),
    notes: JSON.parse(text('notes') || '{}') as Notes,
    attaches: text('attaches'),
    restates: row['restates'] === true,
    receivedAt: instant('received_at') ?? new Date(0),
    publishedAt: instant('published_at'),
    settledAt: instant('settled_at'),
  }
}

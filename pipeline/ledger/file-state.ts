import { randomInt } from 'node:crypto'
import { skimFileName } from '../../schemas/file-name.js'
import type { Manifest } from '../../schemas/manifest.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { Store } from '../store/clickhouse.js'
import {
  type Cell,
  createCodec,
  dateTime,
  group,
  integer,
  json,
  optional,
  plain,
  type Row,
} from '../store/columns.js'
import { sql } from '../store/sql.js'
import type { Counted } from './sums.js'

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

/** Other facts of the receipt. */
export interface Notes {
  readonly warnings?: readonly string[]
  /** The arrival of the same file whose missing rows it brings back. */
  readonly repairs?: number
  readonly timestampFormat?: string
  readonly dateOrder?: 'MDY' | 'DMY' | 'mixed'
  readonly dateOrderProof?: string
  readonly repeatedHourRows?: number
  readonly ambiguousHourRows?: number
  readonly roundedRows?: number
  /** Of usage files: what the verdict took from the stored reads, as `takenFromStore` has it. */
  readonly fromStore?: string
  /** Meters whose interval length nothing proves yet. */
  readonly provisionalMeters?: number
  /** Stored reads, and their meters, under a length that this file proved; 0 where they had it already. */
  readonly rekeyed?: { readonly rows: number; readonly meters: number }
  /** Stored rows that rows of this file end which are not stored themselves. */
  readonly ended?: number
}

/** Rows or quantities by outcome; the five others add up to `read`. */
export interface Outcomes<T> {
  readonly read: T
  readonly accepted: T
  readonly duplicate: T
  readonly superseded: T
  readonly rejected: T
  readonly unregistered: T
}

/** The progress of a file and the content of its receipt. Quantities are decimal strings. */
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
  /** Rows of a quarantined file that were not rejected; they are not published. */
  readonly held: Counted
  readonly restated: { readonly rows: number; readonly netQuantity: string }
  readonly meters: number
  readonly firstIntervalStart: Date | undefined
  readonly lastIntervalEnd: Date | undefined
  readonly notes: Notes
  /** The group that it is loaded with, 0 where it is loaded by itself. */
  readonly groupId: number
  /** Which decision made its verdict, 0 before; part of the names of the tables that it built. */
  readonly decision: number
  /** The staging table whose rows are published, once decided. */
  readonly attaches: string
  /** Whether it replaces reads of other files, which are recorded first. */
  readonly restates: boolean
  readonly receivedAt: Date
  readonly publishedAt: Date | undefined
  readonly settledAt: Date | undefined
}

/** The number under which the rows of a file are staged and its jobs are queued. */
export function numberOf({ arrival, groupId }: Pick<FileState, 'arrival' | 'groupId'>): number {
  return groupId === 0 ? arrival : groupId
}

/** Whether it has no verdict yet. */
export function isOpen({ status }: Pick<FileState, 'status'>): boolean {
  return status === 'received' || status === 'waiting'
}

/** Whether it has a verdict that was carried out, or only needs to be put away. */
export function isDecided(state: Pick<FileState, 'status'>): boolean {
  return !isOpen(state) && state.status !== 'publishing'
}

/** Groups have numbers that no arrival has. */
const firstGroup = 2 ** 31

/** A number for a group: each attempt to load one has staging tables of its own. */
export function newGroup(): number {
  return randomInt(firstGroup, 2 ** 32)
}

export function isGroup(number: number): boolean {
  return number >= firstGroup
}

/**
 * A state never goes back: of two rows of one arrival the higher rank counts. A file that has left its
 * group does not come into it again. That a file is gone from its source says nothing once it has a verdict:
 * a worker that read it late looked for it where another had put it away.
 */
export function rankOf(state: FileState): number {
  const ranks = {
    received: 10,
    waiting: 20,
    publishing: 40,
    published: 50,
    quarantined: 50,
    duplicate: 50,
    replaced: 30,
  } as const satisfies Record<FileStatus, number>
  const alone = state.status === 'received' && state.groupId === 0 ? 1 : 0
  return ranks[state.status] + alone + (state.settledAt === undefined ? 0 : 5)
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

const outcomes = <T>(column: Cell<T>) => {
  const each = { read: column, accepted: column, duplicate: column, superseded: column }
  return group<Outcomes<T>>({ ...each, rejected: column, unregistered: column })
}

/** `file_state` has `rows_held` and `quantity_held`, the other way round than `held` here. */
const held: Cell<Counted> = {
  write: (_, { rows, quantity }) => ({ rows_held: rows, quantity_held: quantity }),
  read: (_, row) => ({ rows: Number(row['rows_held']), quantity: String(row['quantity_held']) }),
}

const codec = createCodec<FileState>({
  arrival: plain(),
  status: plain(),
  source: plain(),
  path: plain(),
  fileName: plain(),
  companyCode: plain(),
  fileDate: optional(plain<string>()),
  feed: plain(),
  fileId: plain(),
  bytes: integer,
  manifest: json(),
  fault: plain(),
  reason: plain(),
  duplicateOf: plain(),
  rows: outcomes(integer),
  quantity: outcomes(plain<string>()),
  held,
  restated: group({ rows: integer, netQuantity: plain<string>() }),
  meters: integer,
  firstIntervalStart: optional(dateTime),
  lastIntervalEnd: optional(dateTime),
  notes: json(),
  groupId: integer,
  decision: integer,
  attaches: plain(),
  restates: plain(),
  receivedAt: dateTime,
  publishedAt: optional(dateTime),
  settledAt: optional(dateTime),
})

export const fromStateRow = codec.fromRow

export function toStateRow(state: FileState): Row {
  return { ...codec.toRow(state), rank: rankOf(state) }
}

/** Whether a file stores earlier reads under a length that it proves. */
export function isRekeying({ notes }: Pick<FileState, 'notes'>): boolean {
  return (notes.rekeyed?.rows ?? 0) > 0
}

/** Whether an earlier arrival of the same feed may still be published. */
export async function isAhead(
  store: Store,
  { arrival, feed }: { readonly arrival: number; readonly feed: string },
  naming: Naming,
): Promise<boolean> {
  const rows = await store.rows<{ name: string }>({
    sql: sql`SELECT DISTINCT name FROM arrival WHERE arrival < ${arrival}
      AND arrival NOT IN (SELECT arrival FROM file_state FINAL WHERE status NOT IN ('received', 'waiting'))`,
  })
  return rows.some(({ name }) => skimFileName(name, naming)?.feed === feed)
}

/** Of arrivals that have only arrived. */
export const stateless = sql`arrival NOT IN (SELECT arrival FROM file_state)`

/** The files that are not settled. */
export const unfinishedFiles = sql`SELECT arrival FROM arrival WHERE ${stateless}
  UNION ALL SELECT arrival FROM file_state FINAL WHERE settled_at IS NULL`

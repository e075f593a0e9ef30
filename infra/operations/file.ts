import { stat } from 'node:fs/promises'
import type { Folders } from '../../pipeline/context.js'
import { type AuditEntry, readActsOn } from '../../pipeline/ledger/audit.js'
import type { FileState } from '../../pipeline/ledger/file-state.js'
import type { Arrival } from '../../pipeline/ledger/ledger.js'
import { arrivalPaths } from '../../pipeline/ledger/outbox.js'
import { toReceipt } from '../../pipeline/ledger/receipt.js'
import { sentLine, sentText } from '../../pipeline/ledger/rejects-files.js'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import { ifThere } from '../../pipeline/sources/disk.js'
import { submitted } from '../../pipeline/sources/folder.js'
import {
  findObstacle,
  type ReprocessAct,
  type ReprocessContext,
  type Reprocessed,
  reprocessActs,
  reprocessed,
} from '../../pipeline/steps/reprocess.js'
import { literal, sql } from '../../pipeline/store/sql.js'
import { keptPath } from '../../pipeline/verify/archive.js'
import { Fault, type FaultCode, faultCodes } from '../../schemas/fault.js'
import type { Receipt } from '../../schemas/receipt.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { addDays, dayAt, daySeconds, type Zone } from '../../schemas/time/zone.js'

/** A day of a file on which the clock changes. */
export interface ClockChange {
  readonly day: string
  readonly hours: number
}

/** Rejected rows of one kind. */
export interface RejectKind {
  readonly code: string
  readonly column: string
  readonly rows: number
  /** Line, reason and text of the first rows. */
  readonly examples: readonly (readonly [line: number, detail: string, raw: string])[]
}

/** The data of a file's page, except its rejected rows. */
export interface FileDetail {
  readonly arrival: number
  readonly name: string
  readonly source: string
  readonly arrivedAt: string
  readonly status: string
  readonly fault: string
  readonly todo: string
  /** Undefined until the file is received. */
  readonly receipt: Receipt | undefined
  /** Of quantities in usage files, unless the registration of a meter says otherwise; else empty. */
  readonly unit: string
  readonly clock: Profile['usage']['clock']
  readonly clockChanges: readonly ClockChange[]
  readonly rejectKinds: readonly RejectKind[]
  /** Where the file is, on the machine of its source or here; empty if it is nowhere any more. */
  readonly location: string
  /** Which of its files can be downloaded. */
  readonly downloads: readonly Download[]
  /** Why an action is not available; empty if it is. */
  readonly acts: Readonly<Record<ReprocessAct, string>>
  readonly reprocessed: Reprocessed | undefined
  readonly entries: readonly Pick<AuditEntry, 'number' | 'at' | 'who' | 'via' | 'act'>[]
}

export interface FileContext extends ReprocessContext {
  readonly queues: Pick<Queues, 'add' | 'waits'>
  readonly folders: Pick<Folders, 'quarantine' | 'archive' | 'outbox'>
  readonly profile: Profile
  readonly zone: Zone
}

/** Throws `FILE_STATE` if no file has the number. */
export async function readFileDetail(context: FileContext, number: number): Promise<FileDetail> {
  const { ledger, store, profile, zone } = context
  const [arrival, state] = await Promise.all([ledger.arrival(number), ledger.state(number)])
  if (arrival === undefined) throw new Fault('FILE_STATE', `there is no arrival ${number}`)
  const about = { acts: reprocessActs, subject: String(number) }
  const [first, rejectKinds, acts, entries, taken, location, downloads] = await Promise.all([
    state?.duplicateOf ? ledger.state(state.duplicateOf) : undefined,
    readRejectKinds(context, number),
    openActs(context, state),
    readActsOn(store, about),
    reprocessed(context, number),
    locate(context, arrival),
    listDownloads(context, arrival),
  ])
  const fault = state?.fault ?? ''
  const units: Readonly<Record<string, string>> = profile.usage.unit
  return {
    ...shownOf(arrival),
    status: state?.status ?? 'arrived',
    fault,
    todo: fault in faultCodes ? faultCodes[fault as FaultCode].meaning : '',
    receipt: state && toReceipt(state, first),
    unit: units[state?.feed ?? ''] ?? '',
    clock: profile.usage.clock,
    clockChanges: state === undefined ? [] : clockChanges(state, zone),
    rejectKinds,
    location,
    downloads,
    acts,
    reprocessed: taken,
    entries: entries.map(({ number, at, who, via, act }) => ({ number, at, who, via, act })),
  }
}

function shownOf({ arrival, name, source, arrivedAt }: Arrival) {
  return { arrival, name, source, arrivedAt: arrivedAt.toISOString() }
}

/** The kept copy; a submitted file stays where it is, and any other until it is settled. */
async function locate(
  { folders, ledger }: FileContext,
  { arrival, name, path, source }: Arrival,
): Promise<string> {
  for (const folder of [folders.archive, folders.quarantine]) {
    const kept = keptPath(folder, { arrival, fileName: name })
    if ((await ifThere(stat(kept))) !== undefined) return kept
  }
  const isThere = source === submitted || (await ledger.state(arrival))?.settledAt === undefined
  return isThere ? path : ''
}

/** What a person can have of a file: its receipt, and its rejected rows as CSV. */
export type Download = 'receipt' | 'rejects'

/** The path of a download. */
export function downloadPath(
  { folders }: Pick<FileContext, 'folders'>,
  { arrival, name }: Pick<Arrival, 'arrival' | 'name'>,
  download: Download,
): string {
  return arrivalPaths(folders.outbox, { arrival, fileName: name })[download]
}

async function listDownloads(context: FileContext, arrival: Arrival) {
  const all = ['receipt', 'rejects'] as const
  const there = await Promise.all(
    all.map((one) => ifThere(stat(downloadPath(context, arrival, one)))),
  )
  return all.filter((_, at) => there[at] !== undefined)
}

async function openActs(context: FileContext, state: FileState | undefined) {
  const why = async (act: ReprocessAct) => {
    if (state === undefined) return 'the file is not received yet'
    return (await findObstacle(context, state, act)) ?? ''
  }
  const [retry, accept] = await Promise.all([why('retry'), why('accept')])
  return { retry, accept }
}

const daysMax = 800

/** Days between a file's first and last interval that do not have 24 hours. */
function clockChanges(state: FileState, zone: Zone): readonly ClockChange[] {
  const { firstIntervalStart: from, lastIntervalEnd: to } = state
  if (from === undefined || to === undefined) return []
  const changes: ClockChange[] = []
  const last = dayAt(zone, new Date(to.getTime() - 1_000))
  let day = dayAt(zone, from)
  for (let count = 0; day <= last && count < daysMax; count++) {
    const seconds = zone.daySeconds(day)
    if (seconds !== daySeconds) changes.push({ day, hours: seconds / 3_600 })
    day = addDays(day, 1)
  }
  return changes
}

const bounds = { max_execution_time: 2, max_threads: 1 } as const

/** Examples of each kind of rejected rows. */
const examplesMax = 3

function readRejectKinds({ store }: FileContext, arrival: number) {
  return store.rows<RejectKind>({
    sql: sql`SELECT toString(code) AS code, toString(column_name) AS column,
        toUInt32(count()) AS rows,
        groupArraySorted(${literal(examplesMax)})((${sentLine}, detail, ${sentText})) AS examples
      FROM reject FINAL WHERE arrival = ${arrival}
      GROUP BY code, column ORDER BY rows DESC, code, column LIMIT 100`,
    settings: bounds,
  })
}

/** A rejected row as in the rejects file. */
export interface Reject {
  /** Its place among the rows of the file: the next page begins behind it. */
  readonly place: number
  readonly line: number
  readonly column: string
  readonly code: string
  readonly detail: string
  readonly raw: string
}

/** Rejected rows per page. */
const rejectsMax = 50

/** The rejected rows of a file after a place, and whether they are the last. */
export async function readRejects(
  { store }: Pick<FileContext, 'store'>,
  { arrival, after }: { readonly arrival: number; readonly after: number },
): Promise<{ readonly rejects: readonly Reject[]; readonly isLast: boolean }> {
  const rows = await store.rows<Reject>({
    sql: sql`SELECT reject.line AS place, ${sentLine} AS line, toString(column_name) AS column,
        toString(code) AS code, detail, ${sentText} AS raw
      FROM reject FINAL WHERE arrival = ${arrival} AND reject.line > ${after}
      ORDER BY reject.line LIMIT ${rejectsMax + 1}`,
    settings: bounds,
  })
  return { rejects: rows.slice(0, rejectsMax), isLast: rows.length <= rejectsMax }
}

import { rm, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Logger } from 'pino'
import { Fault } from '../schemas/fault.js'
import type { Receipt } from '../schemas/receipt.js'
import type { Profile } from '../schemas/settings/profile.js'
import { createZone } from '../schemas/time/zone.js'
import type { Folders, PipelineContext } from './context.js'
import { landedFolder } from './files/landing.js'
import type { FileState } from './ledger/file-state.js'
import { createLedger, type FileEntry } from './ledger/ledger.js'
import { toReceipt } from './ledger/receipt.js'
import { sentLine, sentText } from './ledger/rejects-files.js'
import type { Queues } from './queues/bullmq.js'
import type { JobData } from './queues/jobs.js'
import { membersOf } from './records/set.js'
import { attempt } from './sources/disk.js'
import { createSubmitSource } from './sources/folder.js'
import type { Source } from './sources/source.js'
import { tap } from './steps/land-rows.js'
import { load } from './steps/load.js'
import { receive } from './steps/receive.js'
import { decide } from './steps/reconcile.js'
import type { Store } from './store/clickhouse.js'
import { sql } from './store/sql.js'
import { dropStaging } from './store/staging.js'

export interface CheckOptions {
  readonly profile: Profile
  /** A store with the migrations of the profile and without files; nothing is published in it. */
  readonly store: Store
  /** On the machine of the store, which reads chunks in the landing. */
  readonly folders: Folders
  readonly log: Logger
  /** Rejected rows returned of each file, the first ones. */
  readonly badRowsMax?: number
  readonly onProgress?: (progress: CheckProgress) => void
}

export interface CheckProgress {
  readonly fileName: string
  /** Bytes read of the file, packed as it is. */
  readonly bytes: number
  readonly bytesTotal: number
  /** Rows judged of all files. */
  readonly rows: number
}

/** A rejected row, as the rejects file shows it. */
export interface BadRow {
  readonly line: number
  /** Empty if the complete row is unusable. */
  readonly column: string
  readonly code: string
  readonly detail: string
  /** As in the file. */
  readonly row: string
}

export interface Checked {
  /** The receipt that a load into an empty store would give, with `full` ingestion. */
  readonly receipt: Receipt
  readonly badRows: readonly BadRow[]
}

const source = 'check'
const badRowsMaxUsual = 20

/** The files to check. Throws `SOURCE_UNREACHABLE`, or `CONFIG` for what is not a file. */
export function toEntries(paths: readonly string[]): Promise<readonly FileEntry[]> {
  return Promise.all(
    paths.map(async (path) => {
      const found = await attempt(path, () => stat(path))
      if (!found.isFile()) throw new Fault('CONFIG', `${path} is not a file`)
      return {
        source,
        name: basename(path),
        path: resolve(path),
        bytes: found.size,
        modifiedMs: Math.trunc(found.mtimeMs),
        force: false,
      }
    }),
  )
}

/**
 * Runs files through receive, load and reconcile without a queue and publishes none, so that each
 * is judged as by a load into an empty store. Schedules of one set are judged together; feeds of it
 * without a file here count as unknown, because their schedules may be in force elsewhere. Faults that
 * may pass, such as a file that changes meanwhile, are thrown.
 */
export async function check(
  entries: readonly FileEntry[],
  options: CheckOptions,
): Promise<readonly Checked[]> {
  const context = createContext(options)
  const arrivals = await context.ledger.claimAll(entries)
  const checked = new Map<number, Checked>()
  for (const { arrival } of arrivals) {
    await receive(context, arrival)
    const state = (await context.ledger.state(arrival)) as FileState
    if (state.status === 'replaced') throw new Fault('SOURCE_CHANGED', state.reason)
    // Unknown until the last file of a set is received.
    const members = (await membersOf(context, state)) ?? []
    for (const decided of await decide(context, members)) {
      checked.set(decided.arrival, await toChecked(context, decided, options.badRowsMax))
      await dropStaging(context.store, decided.arrival)
      const landed = landedFolder(context.folders.landing, decided.arrival)
      await rm(landed, { recursive: true, force: true })
    }
  }
  return arrivals.map(({ arrival }) => checked.get(arrival) as Checked)
}

async function toChecked(
  { store, now }: PipelineContext,
  state: FileState,
  badRowsMax = badRowsMaxUsual,
): Promise<Checked> {
  const status = state.status === 'publishing' ? 'published' : state.status
  const receipt = toReceipt({ ...state, status, settledAt: now() })
  if (receipt.rows.rejected === 0) return { receipt, badRows: [] }
  const badRows = await store.rows<BadRow>({
    sql: sql`SELECT ${sentLine} AS line, column_name AS column, code, detail, ${sentText} AS row
      FROM reject FINAL WHERE arrival = ${state.arrival} ORDER BY reject.line LIMIT ${badRowsMax}`,
  })
  return { receipt, badRows }
}

/** The context of the steps, whose loads run at once instead of in a queue. */
function createContext(options: CheckOptions): PipelineContext {
  const { store, folders, log, onProgress } = options
  const profile: Profile = { ...options.profile, ingestion: 'full', sources: [] }
  const now = () => new Date()
  const submitted = createSubmitSource()
  let progress: CheckProgress = { fileName: '', bytes: 0, bytesTotal: 0, rows: 0 }
  const report = (news: Partial<CheckProgress>) => {
    progress = { ...progress, ...news }
    onProgress?.(progress)
  }
  const read: Source['read'] = (arrival) => {
    report({ fileName: arrival.name, bytes: 0, bytesTotal: arrival.bytes })
    return tap(submitted.read(arrival), (bytes) => {
      report({ bytes: progress.bytes + bytes.length })
    })
  }
  const loadNow = async ({ v: _, ...task }: JobData<'load'>) => {
    await load(context, task)
    report({ rows: progress.rows + task.chunk.rows })
  }
  const queues: Pick<Queues, 'add' | 'addFlow'> = {
    add: async (name, data) => {
      if (name === 'load') await loadNow(data as JobData<'load'>)
    },
    addFlow: async () => undefined,
  }
  const context: PipelineContext = {
    profile,
    zone: createZone(profile.timeZone),
    folders,
    machine: '',
    store,
    ledger: createLedger(store, now),
    queues: queues as Queues,
    sources: new Map([[source, { ...submitted, name: source, read }]]),
    storeLanding: folders.landing,
    isTrial: true,
    mdm: undefined,
    now,
    log,
    notify: () => undefined,
  }
  return context
}

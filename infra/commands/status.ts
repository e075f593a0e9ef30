import { freeBytes } from '../../pipeline/files/disk.js'
import { readHealed } from '../../pipeline/ledger/healed.js'
import type { QueueCounts } from '../../pipeline/queues/bullmq.js'
import { readSources } from '../../pipeline/sources/state.js'
import { sql } from '../../pipeline/store/sql.js'
import { isRepair } from '../../pipeline/verify/repaired.js'
import { type OpenNotification, readOpenNotifications } from '../alerts/notifications.js'
import { readOpenSystems } from '../operations/dismiss.js'
import { type Problems, readProblems, renderMissing, renderStuck } from '../operations/problems.js'
import { withQueues, withStore } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { type BillsShown, billColumns, readBills } from './output/bill-status.js'
import { type DataAge, readDataAges } from './output/freshness.js'
import { type HealedShown, healedColumns, showHealed } from './output/healed-shown.js'
import { type SourceShown, showSources } from './output/sources-shown.js'
import { type SystemShown, showSystems, systemColumns } from './output/systems-shown.js'
import {
  bytesText,
  grouped,
  printable,
  renderTable,
  type TableColumn,
  utcText,
} from './output/table.js'
import { type InUse, useData } from './use-stack.js'

interface FileState {
  readonly status: string
  readonly files: string
  readonly rows: string
  readonly newest: string
}

/** Free space of the landing folder; below the limit no new file is received. */
interface Disk {
  readonly folder: string
  readonly freeBytes: number
  readonly freeBytesMin: number
}

export interface Status extends Problems {
  readonly disk: Disk
  readonly sources: readonly SourceShown[]
  /** Systems of the utility that fail. */
  readonly systems: readonly SystemShown[]
  /** What failed and works again, in the last 7 days. */
  readonly healed: readonly HealedShown[]
  readonly files: readonly FileState[]
  readonly queues: Partial<QueueCounts>
  readonly freshness: readonly DataAge[]
  /** Notifications of alerts that are not resolved. */
  readonly alerts: readonly OpenNotification[]
  readonly bills: readonly BillsShown[]
}

const fileColumns: readonly TableColumn<FileState>[] = [
  { title: 'files', cell: (row) => row.status },
  { title: 'count', right: true, cell: (row) => grouped(row.files) },
  { title: 'rows', right: true, cell: (row) => grouped(row.rows) },
  { title: 'latest received', cell: (row) => row.newest },
]
const sourceColumns: readonly TableColumn<SourceShown>[] = [
  { title: 'source', cell: (row) => row.name },
  { title: 'kind', cell: (row) => row.kind },
  { title: 'state', cell: (row) => row.state },
  { title: 'since', cell: (row) => row.since },
  {
    title: 'failures',
    right: true,
    cell: (row) => (row.failures === 0 ? '' : grouped(row.failures)),
  },
  { title: 'next attempt', cell: (row) => row.retryAt },
  { title: 'reason', cell: (row) => row.code },
]
const freshnessColumns: readonly TableColumn<DataAge>[] = [
  { title: 'company', cell: (row) => row.company_code },
  { title: 'commodity', cell: (row) => row.commodity },
  { title: 'newest interval ends (UTC)', cell: (row) => row.newest },
  { title: 'age, hours', right: true, cell: (row) => grouped(row.age_hours) },
  { title: 'late', cell: (row) => (row.late ? 'late' : '') },
]
const alertColumns: readonly TableColumn<OpenNotification>[] = [
  { title: 'alert', cell: (row) => row.key },
  { title: 'state', cell: (row) => row.state },
  { title: 'notified', cell: (row) => utcText(row.notifiedAt) },
  { title: 'outcome', cell: (row) => row.outcome },
  { title: 'attempts', right: true, cell: (row) => grouped(row.attempts) },
  { title: 'status', right: true, cell: (row) => (row.status === 0 ? '' : String(row.status)) },
]

/**
 * Prints files by status, sources, waiting and quarantined files, jobs by queue, data freshness and
 * the bills of each cycle. The exit code is 1 if a server does not respond.
 */
export async function status(
  context: Context,
  options: { readonly json: boolean },
): Promise<number> {
  const now = await useData(context, 'status', readStatus)
  context.print(options.json ? JSON.stringify(now, undefined, 2) : render(now))
  return now.away.length === 0 ? exitCodes.good : exitCodes.fault
}

async function readStatus(stack: InUse): Promise<Status> {
  const problems = await readProblems(stack)
  const isAway = (code: string) => problems.away.some((one) => one.code === code)
  const ledger = isAway('STORE_UNREACHABLE') ? nothing : await readLedger(stack)
  const queues = isAway('QUEUE_UNREACHABLE') ? {} : await withQueues(stack, (all) => all.counts())
  return { ...ledger, queues, disk: await readDisk(stack), ...problems }
}

async function readDisk({ home, profile }: InUse): Promise<Disk> {
  const folder = home.landing
  const freeBytesMin = profile.limits.freeDiskBytesMin
  return { folder, freeBytes: await freeBytes(folder), freeBytesMin }
}

function renderDisk({ folder, freeBytes, freeBytesMin }: Disk): readonly string[] {
  if (freeBytes >= freeBytesMin) return []
  const free = `${folder} has ${bytesText(freeBytes)} free`
  const limit = `limits.freeDiskBytesMin is ${bytesText(freeBytesMin)}`
  return [`✗ DISK_FULL: ${free}, ${limit}; no new file is received until space is free`]
}

const nothing = {
  ...{ sources: [], systems: [], healed: [], files: [] },
  ...{ freshness: [], alerts: [], bills: [] },
}

function readLedger({ store: address, profile }: InUse) {
  return withStore(address, async (store) => ({
    sources: showSources(profile, await readSources(store)),
    systems: showSystems(await readOpenSystems(store, profile)),
    healed: showHealed(await readHealed(store, new Date())),
    files: await store.rows<FileState>({ sql: filesSql }),
    freshness: await readDataAges(store, profile),
    alerts: profile.alerts === undefined ? [] : await readOpenNotifications(store),
    bills: await readBills(store, profile),
  }))
}

const filesSql = sql`SELECT
    if(f.status = 'published' AND f.rows_rejected > 0, 'published with rejects', f.status) AS status,
    toString(count()) AS files, toString(sumIf(rows_read, NOT ${isRepair})) AS rows,
    formatDateTime(max(received_at), '%F %T') AS newest
FROM file_load AS f
GROUP BY status
ORDER BY status`

const jobStates = ['waiting', 'active', 'delayed', 'failed'] as const
const queueColumns: readonly TableColumn<[string, Readonly<Record<string, number>>]>[] = [
  { title: 'queue', cell: ([name]) => name },
  ...jobStates.map((state) => ({
    title: state,
    right: true,
    cell: ([, counts]: [string, Readonly<Record<string, number>>]) => String(counts[state] ?? 0),
  })),
]

function render(now: Status): string {
  return [
    ...now.away.map(({ code, detail }) => `✗ ${code}: ${detail}; files wait until it responds`),
    ...renderDisk(now.disk),
    ...renderMissing(now.missing),
    renderTable(fileColumns, now.files),
    renderTable(sourceColumns, now.sources),
    ...now.sources
      .filter(({ detail }) => detail !== '')
      .map(({ name, detail }) => `${name}: ${detail}`),
    ...now.sources
      .filter(({ others }) => others !== '')
      .map(({ name, others }) => `${name}: ${others}`),
    ...renderSystems(now.systems),
    ...renderHealed(now.healed),
    ...renderStuck('waiting', now.waiting),
    ...renderStuck('quarantined', now.quarantined),
    renderTable(queueColumns, Object.entries(now.queues)),
    renderTable(freshnessColumns, now.freshness),
    ...(now.alerts.length === 0 ? [] : [renderTable(alertColumns, now.alerts)]),
    ...renderBills(now.bills),
  ].join('\n\n')
}

function renderSystems(systems: readonly SystemShown[]): readonly string[] {
  if (systems.length === 0) return []
  return [
    renderTable(systemColumns, systems),
    ...systems.map(({ name, detail }) => printable(`${name}: ${detail}`)),
  ]
}

function renderHealed(healed: readonly HealedShown[]): readonly string[] {
  return healed.length === 0 ? [] : [renderTable(healedColumns, healed)]
}

function renderBills(bills: readonly BillsShown[]): readonly string[] {
  if (bills.length === 0) return []
  const whys = bills.filter(({ detail }) => detail !== '')
  const lines = whys.map(
    ({ cycle, first, detail }) => `cycle ${cycle} ${first}`.trim() + `: ${detail}`,
  )
  return [renderTable(billColumns, bills), ...lines]
}

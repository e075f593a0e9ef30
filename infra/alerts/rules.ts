import { hostname } from 'node:os'
import { backfillSource } from '../../pipeline/customers/backfill.js'
import { freeBytes } from '../../pipeline/files/disk.js'
import { pushSource } from '../../pipeline/intake/arrive.js'
import { readDismissed } from '../../pipeline/ledger/dismissals.js'
import { createLedger } from '../../pipeline/ledger/ledger.js'
import { readFailingSystems } from '../../pipeline/ledger/systems.js'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import type { JobName } from '../../pipeline/queues/jobs.js'
import { readSources } from '../../pipeline/sources/state.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { toInstant } from '../../pipeline/store/columns.js'
import { sql, typed } from '../../pipeline/store/sql.js'
import { staleSince } from '../../pipeline/usage/days/stale.js'
import { overdueSince, readLastVerifications } from '../../pipeline/verify/damage.js'
import { Fault } from '../../schemas/fault.js'
import type { FeedName } from '../../schemas/feed.js'
import { parseFileName } from '../../schemas/file-name.js'
import { groupBy } from '../../schemas/lists/group-by.js'
import type { About, AlertSettings } from '../../schemas/settings/alert.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { addDays, createZone } from '../../schemas/time/zone.js'
import { readOpenRuns } from '../commands/output/failing-runs.js'
import { readDataAges } from '../commands/output/freshness.js'
import { showSources } from '../commands/output/sources-shown.js'
import { readOpenDamage, readOpenWaits, readQuarantined } from '../operations/problems.js'
import { daysLookedBack, listDueFiles } from './expected.js'
import type { Notification } from './notifications.js'

/** A problem that exists now. */
export interface Alert {
  readonly key: string
  readonly since: Date
  readonly about: About
}

/** The result of one rule. An alert that it covers and does not list is resolved. */
export interface RuleResult {
  readonly covers: (notification: Pick<Notification, 'key' | 'notifiedAt'>) => boolean
  readonly alerts: readonly Alert[]
}

export interface AlertContext {
  readonly profile: Profile
  readonly settings: AlertSettings
  readonly store: Store
  readonly queues: Pick<Queues, 'waits'>
  readonly landing: string
  readonly now: Date
}

const quarantinedMax = 1_000
const refusedMax = 10_000

/** All current problems, as `tieline status` shows them. Faults: the store's and the queues'. */
export function evaluateRules(context: AlertContext): Promise<readonly RuleResult[]> {
  return Promise.all(rules.map((evaluate) => evaluate(context)))
}

const rules: readonly ((context: AlertContext) => Promise<RuleResult>)[] = [
  findQuarantined,
  findLate,
  findMissing,
  findFailingSources,
  findFailingSystems,
  findFailingJobs,
  findFullDisk,
  findDamage,
]

const withPrefix =
  (prefix: string): RuleResult['covers'] =>
  ({ key }) =>
    key.startsWith(prefix)

/** When there are more files than are read, none counts as resolved. */
async function findQuarantined({ store }: AlertContext): Promise<RuleResult> {
  const files = await readQuarantined(store, { refusedMax, quarantinedMax })
  const isComplete = files.length < quarantinedMax
  return {
    covers: (notification) => isComplete && withPrefix('quarantined:')(notification),
    alerts: files.map(({ arrival, code, since }) => ({
      key: `quarantined:${arrival}`,
      since: new Date(since),
      about: { kind: 'quarantined', arrival, code },
    })),
  }
}

async function findLate({ store, profile }: AlertContext): Promise<RuleResult> {
  const freshness = await readDataAges(store, profile)
  const late = freshness.filter(
    (one) => one.late && profile.companyCodes.includes(one.company_code),
  )
  return {
    covers: withPrefix('late:'),
    alerts: late.map(({ company_code: company, commodity, newest, age_hours: ageHours }) => ({
      key: `late:${company}:${commodity}`,
      since: toInstant(newest),
      about: { kind: 'late', company, feed: commodity as FeedName, ageHours },
    })),
  }
}

async function findMissing(context: AlertContext): Promise<RuleResult> {
  const { profile, settings, now } = context
  const present = await readPresent(context)
  const zone = createZone(profile.timeZone)
  const alerts = settings.expected.flatMap((one): readonly Alert[] => {
    const { company, feed } = one
    const due = listDueFiles(one, { zone, now })
    const found = due.findIndex(({ fileDate }) => present.has(`${company} ${feed} ${fileDate}`))
    const files = found === -1 ? due.length : found
    const [latest] = due
    if (latest === undefined || files === 0) return []
    const { fileDate, dueAt: since } = latest
    const about = { kind: 'missing', company, feed, fileDate, files } as const
    return [{ key: `missing:${company}:${feed}`, since, about }]
  })
  return { covers: withPrefix('missing:'), alerts }
}

/** Files of these sources were made from rows: nobody sent one. */
const madeFromRows: readonly string[] = [pushSource, backfillSource]

/** Company, feed and date of all files that were sent, by their names, also of quarantined ones. */
async function readPresent({ store, profile, settings, now }: AlertContext) {
  if (settings.expected.length === 0) return new Set<string>()
  const from = addDays(now.toISOString().slice(0, 10), -2 * daysLookedBack - 1)
  // In this order: a file that gets its state meanwhile is in both.
  const { arrivals } = await createLedger(store, () => now).unfinished()
  const rows = await store.rows<{ named: string }>({
    sql: sql`SELECT DISTINCT
        concat(company_code, ' ', feed, ' ', toString(assumeNotNull(file_date))) AS named
      FROM file_state FINAL WHERE file_date >= ${typed('Date', from)}
        AND status != 'replaced' AND source NOT IN ${madeFromRows}`,
  })
  const sent = arrivals.filter(({ source }) => !madeFromRows.includes(source))
  const unread = sent.flatMap(({ name }) => nameOf(name, profile))
  return new Set([...rows.map(({ named }) => named), ...unread])
}

/** Empty for an invalid name: its file is quarantined. */
function nameOf(name: string, profile: Profile): readonly string[] {
  try {
    const { companyCode, feed, fileDate } = parseFileName(name, profile)
    return [`${companyCode} ${feed} ${fileDate}`]
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  }
}

async function findFailingSources({
  store,
  profile,
  settings,
  now,
}: AlertContext): Promise<RuleResult> {
  const shown = showSources(profile, await readSources(store))
  const isDismissed = await readDismissed(store)
  const alerts = shown.flatMap(({ name: source, state, since, code, failures }) => {
    const from = toInstant(since)
    if (state !== 'failing' || !hasLasted(from, { settings, now })) return []
    const about = { kind: 'source', source, code, failures } as const
    const key = `source:${source}`
    return isDismissed({ key, since: from }) ? [] : [{ key, since: from, about }]
  })
  return { covers: withPrefix('source:'), alerts }
}

async function findFailingSystems(context: AlertContext): Promise<RuleResult> {
  const failing = await readFailingSystems(context.store, context.profile)
  const isDismissed = await readDismissed(context.store)
  const alerts = failing.flatMap(({ system, code, failures, since }) => {
    const about = { kind: 'system', system, code, failures } as const
    const alert = { key: `system:${system}`, since, about }
    return hasLasted(since, context) && !isDismissed(alert) ? [alert] : []
  })
  return { covers: withPrefix('system:'), alerts }
}

/** A job that fails: of a step that waits for a passing fault, of bills, of a comparison of rates, or one that is overdue. */
interface FailingJob {
  readonly job: JobName
  readonly code: string
  readonly since: Date
}

async function findFailingJobs(context: AlertContext): Promise<RuleResult> {
  const { store, profile, queues, now } = context
  const [waits, runs, verified, stale] = await Promise.all([
    readOpenWaits({ store, queues }),
    readOpenRuns(store, profile),
    readLastVerifications(store),
    staleSince(store),
  ])
  const overdue = (job: JobName, since: Date | undefined) =>
    since === undefined ? [] : [{ job, code: 'OVERDUE', since }]
  const failing: readonly FailingJob[] = [
    ...waits,
    ...runs.map((one) => ({ ...one, since: toInstant(one.since) })),
    ...overdue('verify', overdueSince(verified, now)),
    ...overdue('days', stale),
  ]
  const lasting = failing.filter(({ since }) => hasLasted(since, context))
  const alerts = groupBy(lasting, ({ job }) => job).map((jobs): Alert => {
    const { job, code, since } = jobs.reduce((a, b) => (b.since < a.since ? b : a))
    return { key: `run:${job}`, since, about: { kind: 'run', job, code, jobs: jobs.length } }
  })
  return { covers: withPrefix('run:'), alerts }
}

async function findFullDisk({ landing, settings, now }: AlertContext): Promise<RuleResult> {
  const host = hostname()
  const free = await freeBytes(landing)
  const freeBytesMin = settings.freeDiskBytesMin
  const about = { kind: 'disk', host, freeBytes: free, freeBytesMin } as const
  return {
    covers: coversDisks({ host, settings, now }),
    alerts: free < freeBytesMin ? [{ key: `disk:${host}`, since: now, about }] : [],
  }
}

/** One alert for everything that the latest verification found. */
async function findDamage({ store }: AlertContext): Promise<RuleResult> {
  const found = await readOpenDamage(store)
  const arrivals = new Set(found.flatMap(({ arrival }) => (arrival === 0 ? [] : [arrival]))).size
  const rows = found.reduce((sum, { kind, rows }) => sum + (kind === 'rows' ? rows : 0), 0)
  const about = { kind: 'damage', problems: found.length, arrivals, rows } as const
  const since = new Date(Math.min(...found.map((one) => one.since.getTime())))
  return {
    covers: withPrefix('damage'),
    alerts: found.length === 0 ? [] : [{ key: 'damage', since, about }],
  }
}

/**
 * Only a worker of the same machine can report that its disk has space again. A machine that did not
 * repeat its alert for two periods is gone, and its disk with it.
 */
export function coversDisks({
  host,
  settings,
  now,
}: Pick<AlertContext, 'settings' | 'now'> & { readonly host: string }): RuleResult['covers'] {
  const silentMs = 2 * settings.repeatHours * 3_600_000 + 60_000 * settings.failingMinutes
  return ({ key, notifiedAt }) =>
    key === `disk:${host}` ||
    (key.startsWith('disk:') && now.getTime() - notifiedAt.getTime() > silentMs)
}

function hasLasted(since: Date, { settings, now }: Pick<AlertContext, 'settings' | 'now'>) {
  return now.getTime() - since.getTime() >= settings.failingMinutes * 60_000
}

import { hostname } from 'node:os'
import { freeBytes } from '../../pipeline/files/disk.js'
import { readDismissed } from '../../pipeline/ledger/dismissals.js'
import { createLedger } from '../../pipeline/ledger/ledger.js'
import { readFailingSystems } from '../../pipeline/ledger/systems.js'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import type { JobName } from '../../pipeline/queues/jobs.js'
import type { Wait } from '../../pipeline/queues/wait.js'
import { readSources } from '../../pipeline/sources/state.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { toInstant } from '../../pipeline/store/columns.js'
import { sql, typed } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import type { FeedName } from '../../schemas/feed.js'
import { parseFileName } from '../../schemas/file-name.js'
import type { About, AlertSettings } from '../../schemas/settings/alert.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { addDays, createZone } from '../../schemas/time/zone.js'
import { readDataAges } from '../commands/output/freshness.js'
import { showSources } from '../commands/output/sources-shown.js'
import { readOpenDamage, readQuarantined } from '../operations/problems.js'
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
  readonly queues: Queues
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

/** Company, feed and date of all files that arrived, by their names, whatever their status. */
async function readPresent({ store, profile, settings, now }: AlertContext) {
  if (settings.expected.length === 0) return new Set<string>()
  const from = addDays(now.toISOString().slice(0, 10), -2 * daysLookedBack - 1)
  const rows = await store.rows<{ named: string }>({
    sql: sql`SELECT DISTINCT
        concat(company_code, ' ', feed, ' ', toString(assumeNotNull(file_date))) AS named
      FROM file_state WHERE file_date >= ${typed('Date', from)}`,
  })
  const { arrivals } = await createLedger(store, () => now).unfinished()
  const unread = arrivals.flatMap(({ name }) => nameOf(name, profile))
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

async function findFailingJobs({ queues, settings, now }: AlertContext): Promise<RuleResult> {
  const jobs = new Map<JobName, Wait[]>()
  for (const wait of await queues.waits()) {
    if (!hasLasted(wait.since, { settings, now })) continue
    jobs.set(wait.job, [...(jobs.get(wait.job) ?? []), wait])
  }
  const alerts = [...jobs].flatMap(([job, waits]) => {
    const [oldest] = waits.sort((a, b) => a.since.getTime() - b.since.getTime())
    if (oldest === undefined) return []
    const about = { kind: 'run', job, code: oldest.code, jobs: waits.length } as const
    return [{ key: `run:${job}`, since: oldest.since, about }]
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
  const rows = found.reduce((sum, one) => sum + one.rows, 0)
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

import { hostname } from 'node:os'
import { freeBytes } from '../../pipeline/files/disk.js'
import { createLedger } from '../../pipeline/ledger/ledger.js'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import type { JobName } from '../../pipeline/queues/jobs.js'
import type { Wait } from '../../pipeline/queues/wait.js'
import { readSources } from '../../pipeline/sources/state.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import type { FeedName } from '../../schemas/feed.js'
import { parseFileName } from '../../schemas/file-name.js'
import type { About, AlertSettings } from '../../schemas/settings/alert.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { addDays, createZone } from '../../schemas/time/zone.js'
import { readDataAges } from '../commands/output/freshness.js'
import { showSources } from '../commands/output/sources-shown.js'
import { readQuarantined } from '../operations/problems.js'
import { daysLookedBack, listDueFiles } from './expected.js'
import type { Notification } from './notifications.js'

/** Something that is the matter now. */
export interface Alert {
  readonly key: string
  readonly since: Date
  readonly about: About
}

/** What one look saw: of what it covers, that which it does not show is over. */
export interface Sight {
  readonly covers: (told: Pick<Notification, 'key' | 'toldAt'>) => boolean
  readonly alerts: readonly Alert[]
}

export interface Surroundings {
  readonly profile: Profile
  readonly settings: AlertSettings
  readonly store: Store
  readonly queues: Queues
  readonly landing: string
  readonly now: Date
}

const quarantinedMax = 1_000
const refusedMax = 10_000

/** All that is the matter now, as `tieline status` knows it. Faults: the store's and the queues'. */
export function lookAround(around: Surroundings): Promise<readonly Sight[]> {
  return Promise.all(looks.map((look) => look(around)))
}

const looks: readonly ((around: Surroundings) => Promise<Sight>)[] = [
  seeQuarantined,
  seeLate,
  seeMissing,
  seeSources,
  seeRuns,
  seeDisk,
]

const beginning =
  (start: string): Sight['covers'] =>
  ({ key }) =>
    key.startsWith(start)

/** Where there are more than are read, none is known to be over. */
async function seeQuarantined({ store }: Surroundings): Promise<Sight> {
  const files = await readQuarantined(store, { refusedMax, quarantinedMax })
  const isWhole = files.length < quarantinedMax
  return {
    covers: (told) => isWhole && beginning('quarantined:')(told),
    alerts: files.map(({ arrival, code, since }) => ({
      key: `quarantined:${arrival}`,
      since: new Date(since),
      about: { kind: 'quarantined', arrival, code },
    })),
  }
}

async function seeLate({ store, profile }: Surroundings): Promise<Sight> {
  const freshness = await readDataAges(store, profile)
  const late = freshness.filter(
    (one) => one.late && profile.companyCodes.includes(one.company_code),
  )
  return {
    covers: beginning('late:'),
    alerts: late.map(({ company_code: company, commodity, newest, age_hours: ageHours }) => ({
      key: `late:${company}:${commodity}`,
      since: new Date(`${newest.replace(' ', 'T')}Z`),
      about: { kind: 'late', company, feed: commodity as FeedName, ageHours },
    })),
  }
}

async function seeMissing(around: Surroundings): Promise<Sight> {
  const { profile, settings, now } = around
  const there = await readThere(around)
  const zone = createZone(profile.timeZone)
  const alerts = settings.expected.flatMap((one): readonly Alert[] => {
    const { company, feed } = one
    const due = listDueFiles(one, { zone, now })
    const found = due.findIndex(({ fileDate }) => there.has(`${company} ${feed} ${fileDate}`))
    const files = found === -1 ? due.length : found
    const [latest] = due
    if (latest === undefined || files === 0) return []
    const { fileDate, dueAt: since } = latest
    const about = { kind: 'missing', company, feed, fileDate, files } as const
    return [{ key: `missing:${company}:${feed}`, since, about }]
  })
  return { covers: beginning('missing:'), alerts }
}

/** Company, feed and date of the files that came, by their names, whatever became of them. */
async function readThere({ store, profile, settings, now }: Surroundings) {
  if (settings.expected.length === 0) return new Set<string>()
  const from = addDays(now.toISOString().slice(0, 10), -2 * daysLookedBack - 1)
  const rows = await store.rows<{ named: string }>({
    sql: `SELECT DISTINCT concat(company_code, ' ', feed, ' ', toString(assumeNotNull(file_date))) AS named
      FROM file_state WHERE file_date >= {from:Date}`,
    parameters: { from },
  })
  const { arrivals } = await createLedger(store, () => now).unfinished()
  const unread = arrivals.flatMap(({ name }) => nameOf(name, profile))
  return new Set([...rows.map(({ named }) => named), ...unread])
}

/** Nothing for a name that is none: its file is quarantined. */
function nameOf(name: string, profile: Profile): readonly string[] {
  try {
    const { companyCode, feed, fileDate } = parseFileName(name, profile)
    return [`${companyCode} ${feed} ${fileDate}`]
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  }
}

async function seeSources({ store, profile, settings, now }: Surroundings): Promise<Sight> {
  const shown = showSources(profile, await readSources(store))
  const alerts = shown.flatMap(({ name: source, state, since, code, failures }) => {
    const from = new Date(`${since.replace(' ', 'T')}Z`)
    if (state !== 'failing' || !hasLasted(from, { settings, now })) return []
    const about = { kind: 'source', source, code, failures } as const
    return [{ key: `source:${source}`, since: from, about }]
  })
  return { covers: beginning('source:'), alerts }
}

async function seeRuns({ queues, settings, now }: Surroundings): Promise<Sight> {
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
  return { covers: beginning('run:'), alerts }
}

async function seeDisk({ landing, settings, now }: Surroundings): Promise<Sight> {
  const host = hostname()
  const free = await freeBytes(landing)
  const freeBytesMin = settings.freeDiskBytesMin
  const about = { kind: 'disk', host, freeBytes: free, freeBytesMin } as const
  return {
    covers: coversDisks({ host, settings, now }),
    alerts: free < freeBytesMin ? [{ key: `disk:${host}`, since: now, about }] : [],
  }
}

/**
 * Only a worker of the same machine can say that its disk has room again. A machine that has let the
 * time to repeat pass twice is gone, and its disk with it.
 */
export function coversDisks({
  host,
  settings,
  now,
}: Pick<Surroundings, 'settings' | 'now'> & { readonly host: string }): Sight['covers'] {
  const silentMs = 2 * settings.repeatHours * 3_600_000 + 60_000 * settings.failingMinutes
  return ({ key, toldAt }) =>
    key === `disk:${host}` ||
    (key.startsWith('disk:') && now.getTime() - toldAt.getTime() > silentMs)
}

function hasLasted(since: Date, { settings, now }: Pick<Surroundings, 'settings' | 'now'>) {
  return now.getTime() - since.getTime() >= settings.failingMinutes * 60_000
}

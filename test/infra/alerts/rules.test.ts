import t from 'tap'
import { evaluateRules } from '../../../infra/alerts/rules.js'
import { readQuarantined } from '../../../infra/operations/problems.js'
import { backfillSource } from '../../../pipeline/customers/backfill.js'
import { pushSource } from '../../../pipeline/intake/arrive.js'
import { dismiss } from '../../../pipeline/ledger/dismissals.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import type { Wait } from '../../../pipeline/queues/wait.js'
import { recordDamage } from '../../../pipeline/verify/damage.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { migratedStore } from '../../pipeline/customers/registering.js'
import { sampleState } from '../../pipeline/ledger/sample-state.js'
import { createFolder } from '../../rig/folder.js'

const profile = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  alerts: {
    url: 'https://alerts.example.com/',
    secret: { env: 'SECRET' },
    freeDiskBytesMin: '0 B',
    expected: [{ company: 'DEMO', feed: 'Gas', by: '06:00' }],
  },
})
const settings = profile.alerts ?? never()
function never(): never {
  throw new Error('the section was not read')
}
const store = await migratedStore(t)
const landing = createFolder(t)
/** 7:00 on the day of the files. */
const now = new Date('2024-03-05T12:00:00Z')
const ledger = createLedger(store, () => now)
const waits: Wait[] = []
const queues = { waits: async () => waits }

/** The alerts of now, by their keys. */
async function raised(kind: string) {
  const results = await evaluateRules({ profile, settings, store, queues, landing, now })
  const alerts = results.flatMap((result) => result.alerts)
  return alerts.filter(({ key }) => key.startsWith(kind))
}

interface Arriving extends Partial<FileState> {
  readonly repairs?: number
}

/** A file arrives, and gets a state if that is said; returns its arrival. */
async function arrive({ status, source = 'inbox', repairs = 0, ...more }: Arriving) {
  const { fileName = sampleState.fileName } = more
  const entry = { source, name: fileName, path: `/${source}/${fileName}`, bytes: 1, modifiedMs: 1 }
  const { arrival } = await ledger.claim({ ...entry, force: false, repairs })
  if (status === undefined) return arrival
  const state = { ...sampleState, settledAt: now, ...more, arrival, status, source, fileName }
  await ledger.record(state)
  return arrival
}

t.test('a file is missing until it is sent, whatever was made from rows', async (t) => {
  const missing = () => raised('missing:')
  t.match(await missing(), [{ about: { fileDate: '2024-03-05', files: 31 } }])
  for (const source of [pushSource, backfillSource]) {
    await arrive({ source })
    await arrive({ source, status: 'published' })
  }
  await arrive({ status: 'replaced' })
  t.match(await missing(), [{ about: { fileDate: '2024-03-05', files: 31 } }])
  await arrive({})
  t.same(await missing(), [], 'it is not read yet')
})

t.test(
  'a refused correction is listed, although rows of its name are repaired since',
  async (t) => {
    const fileName = 'DEMO_06032024_Electric.csv'
    const listed = async () => {
      const files = await readQuarantined(store, { refusedMax: 10, quarantinedMax: 10 })
      return files.filter(({ file }) => file === fileName).map(({ arrival }) => arrival)
    }
    const first = await arrive({ fileName, status: 'published' })
    const correction = await arrive({ fileName, status: 'quarantined' })
    t.same(await listed(), [correction])
    const source = 'submit'
    const repair = await arrive({ fileName, source, repairs: first, status: 'quarantined' })
    t.same(await listed(), [repair, correction], 'a repair that failed is a problem of its own')
    await arrive({ fileName, source, repairs: first, status: 'published' })
    t.same(await listed(), [correction])
    await arrive({ fileName, status: 'published' })
    t.same(await listed(), [])
  },
)

t.test('jobs that fail are alerted, unless all their files are dismissed', async (t) => {
  const since = new Date(now.getTime() - 3_600_000)
  const cause = { code: 'STORE_UNREACHABLE', detail: 'no route', since } as const
  const ignore = (arrival: number) => {
    const because = 'sent again tomorrow'
    return dismiss(
      store,
      { who: 'ann', via: 'page' },
      { key: `waiting:${arrival}`, since, because },
    )
  }
  const alone = await arrive({})
  waits.push({ ...cause, job: 'load', arrival: alone })
  t.match(await raised('run:'), [{ key: 'run:load', about: { jobs: 1 } }])
  await ignore(alone)
  t.same(await raised('run:'), [])
  const groupId = 2 ** 31 + 2
  const open = { status: 'waiting', groupId, settledAt: undefined } as const
  const [one, other] = [await arrive(open), await arrive(open)]
  waits.push({ ...cause, job: 'reconcile', arrival: groupId })
  await ignore(one)
  t.match(await raised('run:'), [{ key: 'run:reconcile', about: { jobs: 1 } }])
  await ignore(other)
  t.same(await raised('run:'), [])
  waits.push({ ...cause, job: 'register', arrival: undefined })
  t.match(await raised('run:'), [{ key: 'run:register' }])
})

t.test('a verification that is overdue is alerted, with the time since when it is', async (t) => {
  waits.splice(0)
  const verified = (hours: number) => {
    const at = new Date(now.getTime() - hours * 3_600_000)
    const nothing = { covered: 'rows', kinds: ['rows'], rows: 0, damage: [], machine: 'm' } as const
    return recordDamage(store, nothing, at)
  }
  t.same(await raised('run:'), [], 'it may never have run')
  await verified(49)
  const since = new Date(now.getTime() - 3_600_000)
  const about = { kind: 'run', job: 'verify', code: 'OVERDUE', jobs: 1 }
  t.same(await raised('run:'), [{ key: 'run:verify', since, about }])
  await verified(47)
  t.same(await raised('run:'), [])
})

t.test('days whose sums nobody makes again are alerted', async (t) => {
  const minutes = (count: number) => new Date(now.getTime() - count * 60_000)
  const mark = (at: Date, more: object = {}) =>
    store.insert('stale_day', [
      {
        ...{ change: '1', arrival: 0, meter_id: '', local_day: '2026-03-04' },
        ...{ last_local_day: '2026-03-04', cause: 'repair', is_built: false },
        ...{ recorded_at: Math.floor(at.getTime() / 1_000), ...more },
      },
    ])
  const before = await raised('run:')
  await mark(minutes(1))
  t.same(await raised('run:'), before, 'the job may be under way')
  await mark(minutes(120), { change: '2', cause: 'claim' })
  t.same(await raised('run:'), before, 'reads that are not published wait for no job')
  await mark(minutes(100), { change: '3' })
  const since = new Date(Math.floor(minutes(100).getTime() / 1_000) * 1_000)
  const about = { kind: 'run', job: 'days', code: 'OVERDUE', jobs: 1 }
  t.same(await raised('run:'), [...before, { key: 'run:days', since, about }])
  // What was made long ago is deleted.
  await mark(new Date(), { change: '3', is_built: true })
  t.same(await raised('run:'), before)
})

t.test('data are late as soon as their hours have passed', async (t) => {
  const lateFor = async (seconds: number) => {
    const endedAt = Date.now() - (profile.usage.lateAfterHours * 3_600 + seconds) * 1_000
    const times = { receivedAt: new Date(), lastIntervalEnd: new Date(endedAt) }
    await arrive({ status: 'published', ...times })
    return (await raised('late:')).map(({ about }) => about)
  }
  const ageHours = profile.usage.lateAfterHours
  t.match(await lateFor(30), [{ kind: 'late', company: 'DEMO', feed: 'Gas', ageHours }])
  t.same(await lateFor(-600), [])
})

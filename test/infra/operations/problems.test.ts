import t from 'tap'
import { evaluateRules } from '../../../infra/alerts/rules.js'
import { readBills } from '../../../infra/commands/output/bill-status.js'
import { readOpenRuns } from '../../../infra/commands/output/failing-runs.js'
import { dismissProblems } from '../../../infra/operations/dismiss.js'
import { readProblems, readProblemsOf } from '../../../infra/operations/problems.js'
import { compare } from '../../../pipeline/bills/compare/compare.js'
import { failureColumns } from '../../../pipeline/bills/failure.js'
import { recordPeriods } from '../../../pipeline/bills/periods.js'
import { insertLatest } from '../../../pipeline/store/latest.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { schedules } from '../../pipeline/bills/due.js'
import { billRig, timeZone } from '../../pipeline/bills/rig.js'
import { customerAt } from '../../pipeline/customers/registering.js'
import { createFolder } from '../../rig/folder.js'

const rig = await billRig(t)
const { store } = rig
await rig.publish(schedules)
const meter = { clientId: '1', accountNumber: 'A1', meterId: 'one', rateCode: 'FLAT' }
await rig.register(customerAt(meter))

const profileWith = (daysBackMax: number) =>
  parseProfile({
    companyCodes: ['DEMO'],
    timeZone,
    billing: { daysBackMax },
    alerts: {
      url: 'https://alerts.example.com/',
      secret: { env: 'SECRET' },
      freeDiskBytesMin: '0 B',
    },
  })
const profile = profileWith(36_500)
const queues = { waits: async () => [] }
const landing = createFolder(t)
const minuteMs = 60_000
const now = new Date()

const period = { cycleId: '7', first: '2026-01-01', knownAt: 0 }
/** A run that began to fail so many minutes ago. */
const failed = (minutes: number) => {
  const since = now.getTime() - minutes * minuteMs
  return { failures: 2, code: 'STORE_REFUSED', detail: 'why', since, retryAt: since + minuteMs }
}
const failBills = (minutes: number) => recordPeriods(store, [period], failed(minutes))
const failComparison = (minutes: number) =>
  insertLatest(store, 'comparison_state', [
    { billing_cycle_id: '7', ...failureColumns(failed(minutes)) },
  ])

const open = async (seen = profile) => (await readOpenRuns(store, seen)).map(({ key }) => key)
async function alerted() {
  const { alerts: settings } = profile
  if (settings === undefined) throw new Error('the section was not read')
  const rules = await evaluateRules({ profile, settings, store, queues, landing, now })
  const alerts = rules.flatMap((rule) => rule.alerts)
  return alerts.flatMap(({ about }) => (about.kind === 'run' ? [about] : []))
}

t.test(
  'bills and comparisons that keep failing are shown, and alerted after a while',
  async (t) => {
    await failBills(5)
    await failComparison(15)
    t.same(await open(), ['bill:7:2026-01-01', 'compare:7'])
    t.same(await open(profileWith(1)), [], 'nobody tries them again')
    const about = { kind: 'run', code: 'STORE_REFUSED', jobs: 1 }
    t.same(await alerted(), [{ ...about, job: 'compare' }])
    await failBills(10)
    t.same((await alerted()).map(({ job }) => job).sort(), ['bill', 'compare'])
    const state = { cycle: '7', state: 'failing', failures: 2, code: 'STORE_REFUSED' }
    t.match(await readBills(store, profile), [
      { ...state, first: '', detail: 'rate comparison failed: why' },
      { cycle: '7', first: '', state: 'no period' },
      { ...state, first: '2026-01-01', last: '2026-01-31', detail: 'why' },
    ])
  },
)

t.test('they are dismissed by their cycle, until they fail again', async (t) => {
  const known = { name: 'cycle 7', because: 'the rates come next week' }
  const by = { who: 'ann', via: 'page' } as const
  t.equal(await dismissProblems({ store, queues, profile }, by, known), 2)
  t.same([await open(), await alerted()], [[], []])
  await failBills(20)
  await failComparison(20)
  t.same((await open()).length, 2)
})

t.test('a run by hand ends a failure', async (t) => {
  await rig.bill({ start: '2026-01-01' })
  t.same(await open(), ['compare:7'])
  await compare({ ...rig.context(), profile }, { cycleId: '7' })
  t.same([await open(), await alerted()], [[], []])
  await failBills(30)
  t.same(await open(), ['bill:7:2026-01-01'], 'it fails again')
})

t.test(
  'a file that waits for ClickHouse is listed with the reason, not the statement',
  async (t) => {
    const reasonOf = async (detail: string) => {
      const at = { job: 'load', arrival: 99, since: now } as const
      const wait = { ...at, code: 'STORE_UNREACHABLE', detail } as const
      const { waiting } = await readProblemsOf({ store, queues: { waits: async () => [wait] } })
      t.match(waiting, [{ arrival: 99, code: 'STORE_UNREACHABLE' }])
      return waiting[0]?.reason
    }
    const next = 'the next one follows automatically'
    t.equal(
      await reasonOf('ClickHouse did not answer (ECONNREFUSED): SELECT if(a, b, c) AS id'),
      `ClickHouse did not answer the last attempt (ECONNREFUSED); ${next}`,
      'true after the outage too',
    )
    t.equal(
      await reasonOf('TOO_MANY_PARTS (252); in: INSERT INTO arrival'),
      `ClickHouse refused the last attempt with TOO_MANY_PARTS (252); ${next}`,
    )
    t.equal(
      await reasonOf('ClickHouse did not answer (its certificate (PEM) has expired): SELECT 1): 2'),
      `ClickHouse did not answer the last attempt; ${next}`,
      'what may be a part of a statement is left out',
    )
    t.equal(await reasonOf('SELECT 7'), `ClickHouse did not answer the last attempt; ${next}`)
  },
)

t.test('servers that do not answer are listed, and nothing hangs', async (t) => {
  const problems = await readProblems({
    store: { url: 'http://127.0.0.1:1', username: 'u', password: 'hush', database: 'tieline' },
    redisUrl: 'redis://:hush@127.0.0.1:1',
    profile: parseProfile({ companyCodes: ['DEMO'], timeZone: 'America/Detroit' }),
  })
  t.same(problems.away.map(({ code }) => code).sort(), ['QUEUE_UNREACHABLE', 'STORE_UNREACHABLE'])
  t.notMatch(JSON.stringify(problems), /hush/)
  t.match(problems, { waiting: [], quarantined: [] })
})

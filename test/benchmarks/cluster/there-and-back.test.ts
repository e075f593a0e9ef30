import { type Test, t } from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { kindOf } from '../../../pipeline/kinds.js'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { createRepeats } from '../../../pipeline/store/staging.js'
import { countRowsByArrival } from '../../../pipeline/verify/count.js'
import { createLineOn } from '../../pipeline/by-hand.js'
import { customerAt, profile } from '../../pipeline/customers/registering.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { someOf } from '../../rig/sample.js'
import { createMoving, repeat } from './moving.js'

const world = await createReplicas(profile)
t.teardown(() => world.close())

interface Case {
  readonly name: string
  readonly feed: string
  readonly header?: string
  /** Rows that are published before. */
  readonly before?: (at: number) => readonly string[]
  readonly rows: (at: number) => readonly string[]
  /** The client moves before this statement. */
  readonly away: RegExp
  /** How many such statements it lets pass. */
  readonly passed?: number
  /** It comes back before this one, by default the next. */
  readonly back?: RegExp
}

const own = (at: number, time: string, quantity: string) =>
  `A${at},S${at},M${at},${time},${quantity}`
const other = (at: number, time: string, quantity: string) =>
  `X${at},T${at},N${at},${time},${quantity}`
const bill = (account: string, month: number, quantity: number) =>
  `${account},S${account.slice(1)},M${account.slice(1)},2025-0${month}-01,2025-0${month}-28,${quantity},,,,`

const hours = Array.from({ length: 24 }, (_, hour) => `${hour}:00`)

const cases: readonly Case[] = [
  {
    name: 'rows of no customer are counted',
    feed: 'Electric',
    rows: (at) => [own(at, '3/4/2026 0:00', '1.0'), other(at, '3/4/2026 0:00', '2.0')],
    away: /^SELECT toString\(count\(\)\) AS rows, toString\(sum\(quantity\)\)/,
  },
  {
    name: 'rows that others of the file repeat are counted',
    feed: 'Electric',
    rows: (at) => ['1.0', '1.0', '2.0'].map((one) => own(at, '3/4/2026 0:00', one)),
    away: /^SELECT toString\(sum\(length\(same\)\)\)/,
  },
  {
    name: 'rows that later ones of the file move to nobody are left out',
    feed: 'Electric',
    rows: (at) => [
      own(at, '3/4/2026 0:00', '1.0'),
      own(at, '3/4/2026 1:00', '1.0'),
      own(at, '3/4/2026 0:00', '1.0').replace('A', 'X'),
    ],
    away: /^CREATE OR REPLACE TABLE `staging_\d+_(registered|counting)_/,
    passed: 1,
  },
  {
    name: 'rows of bills are judged',
    feed: 'Billing',
    header:
      'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate',
    before: (at) => [bill(`A${at}`, 1, 10), bill(`A${at}`, 2, 10)],
    rows: (at) => [bill(`A${at}`, 2, 10), bill(`A${at}`, 3, 10), bill(`X${at}`, 3, 10)],
    away: /^CREATE OR REPLACE TABLE `staging_\d+_overlap_/,
    back: /^CREATE OR REPLACE TABLE `staging_\d+_(whole|final)_/,
  },
  {
    name: 'rows of a schedule are read',
    feed: 'BillingCycles',
    header: 'BillingCycleID,StartDate,EndDate',
    rows: (at) => [`${at},2026-01-05,2026-02-03`, `${at},2026-02-04,2026-03-05`],
    away: /^SELECT toString\(version\) AS at, .* FROM `staging_/,
  },
  {
    name: 'clock changes of a file are looked up',
    feed: 'Electric',
    before: (at) => ['0:00', '0:30', '1:00', '1:30'].map((one) => own(at, `11/2/2025 ${one}`, '1')),
    rows: (at) => ['1:00', '1:30', '2:00', '2:30'].map((one) => own(at, `11/2/2025 ${one}`, '2')),
    away: /^SELECT DISTINCT starts_at AS first, second_at AS second/,
  },
  {
    name: 'meters are named whose length is looked up behind those of the repeated hour',
    feed: 'Electric',
    before: (at) => [
      ...['0:00', '0:30', '1:00', '1:30'].map((one) => own(at, `11/2/2025 ${one}`, '1')),
      ...hours.map((one) => own(at, `11/1/2025 ${one}`, '1').replace('M', 'N')),
    ],
    rows: (at) => [
      ...['1:00', '1:30', '2:00', '2:30'].map((one) => own(at, `11/2/2025 ${one}`, '2')),
      own(at, '11/3/2025 5:00', '1').replace('M', 'N'),
    ],
    away: /^CREATE (OR REPLACE )?TABLE `staging_\d+_sparse_/,
    passed: 2,
    back: /^SELECT meter_id, toString\(local_day\) AS at/,
  },
]

let files = 0

/** What becomes of a case with a number of its own, and whether the client has moved. */
async function outcomeOf(t: Test, one: Case, moves: boolean) {
  const at = ++files
  let [ahead, passed, isAway] = [false, one.passed ?? 0, false]
  const client = createMoving(world, (statement, { failOver }) => {
    const isBack = isAway && (one.back?.test(statement) ?? true)
    const isDue = ahead && one.away.test(statement) && passed-- === 0
    if (isDue) ahead = false
    isAway = isDue || (isAway && !isBack)
    if (isDue || isBack) failOver()
  })
  const line = createLineOn(client.store, t.testdir(), {})
  const registered = { ...line.context.profile, ingestion: 'registered' } as const
  const context: PipelineContext = { ...line.context, profile: registered }
  const place = { accountNumber: `A${at}`, externalSiteId: `S${at}`, meterId: `M${at}` }
  await register(context, [customerAt({ clientId: `c${at}`, ...place })])
  const take = async (rows: readonly string[], month: string) => {
    const name = `DEMO_${String(at).padStart(2, '0')}${month}_${one.feed}.csv`
    const { arrival } = await line.arrive(name, rows, one.header)
    await receive(context, arrival)
    for (const task of line.loads.filter((task) => task.arrival === arrival))
      await load(context, task)
    return arrival
  }
  const before = one.before && (await take(one.before(at), '022026'))
  if (before !== undefined) await reconcile(context, before)
  const arrival = await take(one.rows(at), '032026')
  // As an earlier attempt has left them.
  await kindOf(one).createStaging(world.stores.r2, { arrival, feed: one.feed })
  if (one.feed === 'Electric') await createRepeats(world.stores.r2, arrival)
  ahead = moves
  await repeat(() => reconcile(context, arrival))
  t.equal(ahead, false, 'it has moved')
  const state = await context.ledger.state(arrival)
  const { differences } = await countRowsByArrival(client.store)
  const reads = await client.store.rows({
    sql: `SELECT toString(starts_at) AS at, seconds, toString(quantity) AS quantity FROM usage_current
      WHERE bitShiftRight(version, 32) = ${arrival} ORDER BY ALL`,
  })
  const table = { Billing: 'billing_period_row', BillingCycles: 'billing_cycle_row' }[one.feed]
  const records = await client.store.rows({
    sql: `SELECT count() AS rows FROM ${table ?? 'usage_read'} WHERE bitShiftRight(version, 32) = ${arrival}`,
  })
  const { status, rows, reason } = state ?? {}
  return { status, rows, reason, reads, records, differences }
}

for (const one of someOf(cases, 3)) {
  t.test(`${one.name}, while the client moves to another server and back`, async (t) => {
    const calm = await outcomeOf(t, one, false)
    t.match(calm, { status: 'published', differences: [] }, calm.reason ?? '')
    t.same(await outcomeOf(t, one, true), calm)
  })
}

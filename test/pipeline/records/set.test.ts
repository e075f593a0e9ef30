import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { failFile } from '../../../pipeline/fail-file.js'
import { createArrive } from '../../../pipeline/intake/arrive.js'
import { createSubmitSource } from '../../../pipeline/sources/folder.js'
import type { Listed, Source } from '../../../pipeline/sources/source.js'
import { createStability, poll, type Stability } from '../../../pipeline/steps/poll.js'
import { blankState, receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { Fault } from '../../../schemas/fault.js'
import { statementText } from '../../rig/statements/statement-text.js'
import { createLineByHand } from '../by-hand.js'

let clockMs = Date.UTC(2026, 0, 1)
const by = await createLineByHand(t)
let shown: readonly Listed[] = []
const sources = new Map<string, Source>([
  ['upload', { ...createSubmitSource(), name: 'upload' }],
  ['inbox', { ...createSubmitSource(), name: 'inbox', keeps: false, list: async () => shown }],
])
const context: PipelineContext = { ...by.context, sources, now: () => new Date(clockMs) }

/** Takes in a file as it is uploaded, and lets its verdict be looked for. */
async function send(
  name: string,
  rows: readonly string[],
  source: 'upload' | 'inbox' = 'upload',
): Promise<number> {
  const path = join(context.folders.uploads, name)
  writeFileSync(path, rows.join('\n'))
  const { size: bytes, mtimeMs } = statSync(path)
  const entry = { source, name, path, bytes, wholeBy: 'digest', force: false } as const
  const { arrival } = await context.ledger.claim({ ...entry, modifiedMs: Math.trunc(mtimeMs) })
  await receive(context, arrival)
  await reconcile(context, arrival)
  clockMs += 1_000
  return arrival
}

t.test('rate files that are uploaded one by one are a set, once none has followed', async (t) => {
  const tou = await send('DEMO_01012026_RateTou.csv', [
    'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate',
    'RES,Off-Peak,0.11,0,24,2026-01-01,',
  ])
  const codes = await send('DEMO_01012026_RateCodes.csv', [
    'RateCode,Description,RateType',
    'RES,Residential,TOU',
  ])
  const statuses = async () =>
    Promise.all([tou, codes].map(async (one) => (await context.ledger.state(one))?.status))
  await failFile(context, { job: 'load', arrival: codes }, new Fault('STORE_REFUSED', 'a load'))
  t.same(await statuses(), ['received', 'received'], 'more of the set may follow')
  const cycles = await send('DEMO_01012026_BillingCycles.csv', [
    'BillingCycleID,StartDate,EndDate',
    '7,2026-01-05,2026-02-03',
  ])
  t.match(await context.ledger.state(cycles), { status: 'published' }, 'others wait for nothing')
  clockMs += context.profile.rates.quietMinutes * 60_000
  await reconcile(context, tou)
  t.same(await statuses(), ['published', 'published'])
  const back = await send('DEMO_01012026_RateCodes.csv', [
    'RateCode,Description,RateType',
    'OTHER,Other,TOU',
  ])
  clockMs += context.profile.rates.quietMinutes * 60_000
  await reconcile(context, back)
  t.match(await context.ledger.state(back), { status: 'quarantined', reason: /rate code RES/ })
  t.same(await statuses(), ['published', 'published'])
})

t.test('a schedule that confirms the one in force wins over one that came before it', async (t) => {
  const priced = (amount: string) => [
    'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate',
    `RES,Off-Peak,${amount},0,24,2026-01-01,`,
  ]
  const prices = () =>
    context.store.rows({ sql: 'SELECT toFloat64(amount) AS amount FROM rate_tou' })
  t.same(await prices(), [{ amount: 0.11 }])
  const wrong = await send('DEMO_06012026_RateTou.csv', priced('0.99'))
  t.match(await context.ledger.state(wrong), { status: 'received' })
  const right = await send('DEMO_07012026_RateTou.csv', priced('0.11'), 'inbox')
  t.match(await context.ledger.state(right), { status: 'published' })
  clockMs += context.profile.rates.quietMinutes * 60_000
  await reconcile(context, wrong)
  t.match(await context.ledger.state(wrong), { status: 'published', rows: { superseded: 1 } })
  t.same(await prices(), [{ amount: 0.11 }])
})

t.test('a schedule that has ended may be uploaded again, to come back into force', async (t) => {
  const arrive = createArrive(context.ledger, () => undefined)
  const path = join(context.folders.uploads, 'DEMO_01012026_BillingCycles.csv')
  const state = await context.ledger.state((await arrive.find(path)) ?? 0)
  if (state === undefined) throw new Error('it is not known while it is on its way')
  await context.ledger.record({ ...state, settledAt: context.now() })
  t.equal(await arrive.find(path), undefined)
})

t.test('an upload that ends within a row is refused at once: all of it has come', async (t) => {
  const name = 'DEMO_03012026_RateCodes.csv'
  const cut = await send(name, ['RateCode,Description,RateType', 'RES,Residential,TOU', 'FLAT'])
  const fault = { status: 'quarantined', fault: 'TRUNCATED' }
  clockMs += context.profile.rates.quietMinutes * 60_000
  await reconcile(context, cut)
  t.match(await context.ledger.state(cut), fault)
})

t.test('a schedule of more rows than are judged in memory is refused before that', async (t) => {
  const rows = Array.from({ length: 500_001 }, () => '2026-07-03,Independence Day')
  const header = 'BillingCycleID,StartDate,EndDate'
  const arrival = await send('DEMO_02012026_BillingCycles.csv', [header, ...rows])
  const reason = /it has 500001 rows, the limit of a schedule is 500000; leave out/
  t.match(await context.ledger.state(arrival), { status: 'quarantined', fault: 'SCHEDULE', reason })
})

const listed = (name: string, more: Partial<Listed> = {}): Listed => ({
  ...{ source: 'inbox', name, path: `/inbox/${name}`, bytes: 10, modifiedMs: 0 },
  hasDoneFile: false,
  ...more,
})

/** Polls the inbox; returns the arrivals whose names hold a text. */
async function look(at: PipelineContext, text: string, stability: Stability) {
  await poll(at, 'inbox', stability)
  const { arrivals } = await context.ledger.unfinished()
  return arrivals.filter(({ name }) => name.includes(text))
}

t.test('files that a vendor names otherwise are a set as well', async (t) => {
  const fileNames = [{ like: '<Feed>-<YYYY>-<MM>-<DD>' }]
  const profile = { ...context.profile, fileNames }
  const stability = createStability()
  shown = ['RateCodes', 'RateTou'].map((feed) => listed(`${feed}-2026-01-04.csv`))
  const taken = () => look({ ...context, profile }, '-2026-01-04', stability)
  t.same(await taken(), [], 'they wait for more of it')
  clockMs += profile.rates.quietMinutes * 60_000
  const [first] = await taken()
  t.equal((await context.ledger.claimedWith(first?.arrival ?? 0)).arrivals.length, 2)
})

/** A rate file of a day whose done-file is there. */
const announced = (day: string, feed: string, bytes: number) =>
  listed(`DEMO_${day}_${feed}.csv`, { bytes, hasDoneFile: true, hasSetDoneFile: true })

/** Two rate files of a day that are claimed together, by the second poll that shows them. */
async function claimTwo(day: string) {
  const stability = createStability()
  const of = (feed: string, bytes: number) => announced(day, feed, bytes)
  const taken = () => look(context, `DEMO_${day}`, stability)
  shown = [of('RateCodes', 10), of('RateTou', 10)]
  t.same(await taken(), [], 'a listing may lack what has just come')
  const [codes, tou] = await taken()
  if (codes === undefined || tou === undefined) throw new Error('they have not arrived')
  return { of, codes, tou, taken }
}

/** What was claimed together with a file. */
const claimedWith = async (arrival = 0) =>
  (await context.ledger.claimedWith(arrival)).arrivals.map(({ bytes }) => bytes).sort()

t.test('the rest of a file that waits brings its set with it', async (t) => {
  const { of, codes, tou, taken } = await claimTwo('05012026')
  const waiting = { ...blankState(context, tou), status: 'waiting' } as const
  await context.ledger.record(waiting)
  shown = [of('RateCodes', 10), of('RateTou', 99)]
  for (const _ of [1, 2]) {
    t.same(
      (await taken()).map(({ arrival }) => arrival),
      [codes.arrival],
      'one is on its way',
    )
  }
  t.match(await context.ledger.state(tou.arrival), { status: 'waiting' })
  await context.ledger.record(blankState(context, codes))
  t.same(await taken(), [], 'it is not taken without the others')
  const again = await taken()
  t.same(again.map(({ bytes }) => bytes).sort(), [10, 99])
  t.same(await claimedWith(again[0]?.arrival), [10, 99])
})

t.test('a set of which a file changes before it is taken in comes again as one', async (t) => {
  const { of, codes, tou, taken } = await claimTwo('06012026')
  const changed = { status: 'replaced', settledAt: context.now() } as const
  await context.ledger.record(
    { ...blankState(context, codes), ...changed },
    blankState(context, tou),
  )
  shown = [of('RateCodes', 99), of('RateTou', 10)]
  for (const _ of [1, 2]) t.same(await taken(), [], 'the other is not decided')
  await reconcile(context, tou.arrival)
  t.match(await context.ledger.state(tou.arrival), { status: 'replaced' })
  const [again] = [await taken(), await taken()].flat()
  t.same(await claimedWith(again?.arrival), [10, 99])
})

t.test('a set is not taken by its done-file before the next listing shows the same', async (t) => {
  const stability = createStability()
  const of = (feed: string) => announced('07012026', feed, 10)
  const taken = () => look(context, 'DEMO_07012026', stability)
  shown = [of('RateCodes'), of('RateTou')]
  t.same(await taken(), [])
  shown = [...shown, of('RateFlat')]
  t.same(await taken(), [])
  t.equal((await claimedWith((await taken())[0]?.arrival)).length, 3)
})

t.test('a file that follows while held reads are stored is judged with its set', async (t) => {
  const tou = 'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate'
  const first = await send('DEMO_08012026_RateTou.csv', [tou, 'LATE,All,0.11,0,24,2026-01-01,'])
  clockMs += context.profile.rates.quietMinutes * 60_000 - 5_000
  let last = 0
  const rows: PipelineContext['store']['rows'] = async (statement) => {
    const isAsked = statementText(statement).includes('FROM held_claim')
    if (isAsked && last === 0) {
      last = 1
      const codes = ['RateCode,Description,RateType', 'LATE,Late,TOU']
      last = await send('DEMO_08012026_RateCodes.csv', codes)
      clockMs += 10_000
    }
    return context.store.rows(statement)
  }
  await reconcile({ ...context, store: { ...context.store, rows } }, first)
  const statuses = async () =>
    Promise.all([first, last].map(async (one) => (await context.ledger.state(one))?.status))
  t.same(await statuses(), ['received', 'received'])
  clockMs += context.profile.rates.quietMinutes * 60_000
  await reconcile(context, first)
  const decided = await context.ledger.states([first, last])
  t.equal(new Set(decided.map(({ decision }) => decision)).size, 1)
  t.not(decided[0]?.status, 'received')
})

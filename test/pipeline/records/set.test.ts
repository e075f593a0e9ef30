import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { createArrive } from '../../../pipeline/intake/arrive.js'
import { createSubmitSource } from '../../../pipeline/sources/folder.js'
import type { Listed, Source } from '../../../pipeline/sources/source.js'
import { poll, type Stability } from '../../../pipeline/steps/poll.js'
import { blankState, receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
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
async function send(name: string, rows: readonly string[]): Promise<number> {
  const path = join(context.folders.uploads, name)
  writeFileSync(path, rows.join('\n'))
  const { size: bytes, mtimeMs } = statSync(path)
  const entry = { source: 'upload', name, path, bytes, wholeBy: 'digest', force: false } as const
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

t.test('a schedule that has ended may be uploaded again, to come back into force', async (t) => {
  const arrive = createArrive(context.ledger, context.queues)
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
  const stability: Stability = new Map()
  shown = ['RateCodes', 'RateTou'].map((feed) => listed(`${feed}-2026-01-04.csv`))
  const taken = () => look({ ...context, profile }, '-2026-01-04', stability)
  t.same(await taken(), [], 'they wait for more of it')
  clockMs += profile.rates.quietMinutes * 60_000
  const [first] = await taken()
  t.equal((await context.ledger.claimedWith(first?.arrival ?? 0)).arrivals.length, 2)
})

t.test('the rest of a file that waits brings its set with it', async (t) => {
  const stability: Stability = new Map()
  const of = (feed: string, bytes: number) =>
    listed(`DEMO_05012026_${feed}.csv`, { bytes, hasDoneFile: true, hasSetDoneFile: true })
  const taken = () => look(context, 'DEMO_05012026', stability)
  shown = [of('RateCodes', 10), of('RateTou', 10)]
  const [codes, tou] = await taken()
  if (codes === undefined || tou === undefined) throw new Error('they have not arrived')
  const waiting = { ...blankState(context, tou), status: 'waiting' } as const
  await context.ledger.record(blankState(context, codes), waiting)
  shown = [of('RateCodes', 10), of('RateTou', 99)]
  t.same(await taken(), [], 'it is not taken without the others')
  const again = await taken()
  t.same(again.map(({ bytes }) => bytes).sort(), [10, 99])
  const { arrivals } = await context.ledger.claimedWith(again[0]?.arrival ?? 0)
  t.equal(arrivals.length, 2)
})

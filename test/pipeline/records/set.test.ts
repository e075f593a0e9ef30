import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Line } from '../../../pipeline/context.js'
import { createArrive } from '../../../pipeline/intake/arrive.js'
import { createHandOverSource } from '../../../pipeline/sources/folder.js'
import type { Listed, Source } from '../../../pipeline/sources/source.js'
import { poll, type Stillness } from '../../../pipeline/steps/poll.js'
import { blankState, receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { createLineByHand } from '../by-hand.js'

let clockMs = Date.UTC(2026, 0, 1)
const by = await createLineByHand(t)
let shown: readonly Listed[] = []
const sources = new Map<string, Source>([
  ['upload', { ...createHandOverSource(), name: 'upload' }],
  ['inbox', { ...createHandOverSource(), name: 'inbox', keeps: false, list: async () => shown }],
])
const line: Line = { ...by.line, sources, now: () => new Date(clockMs) }

/** Takes in a file as it is uploaded, and lets its verdict be looked for. */
async function send(name: string, rows: readonly string[]): Promise<number> {
  const path = join(line.folders.uploads, name)
  writeFileSync(path, rows.join('\n'))
  const { size: bytes, mtimeMs } = statSync(path)
  const entry = { source: 'upload', name, path, bytes, force: false }
  const { arrival } = await line.ledger.claim({ ...entry, modifiedMs: Math.trunc(mtimeMs) })
  await receive(line, arrival)
  await reconcile(line, arrival)
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
    Promise.all([tou, codes].map(async (one) => (await line.ledger.state(one))?.status))
  t.same(await statuses(), ['received', 'received'], 'more of the set may follow')
  const cycles = await send('DEMO_01012026_BillingCycles.csv', [
    'BillingCycleID,StartDate,EndDate',
    '7,2026-01-05,2026-02-03',
  ])
  t.match(await line.ledger.state(cycles), { status: 'published' }, 'others wait for nothing')
  clockMs += line.profile.rates.quietMinutes * 60_000
  await reconcile(line, tou)
  t.same(await statuses(), ['published', 'published'])
  const back = await send('DEMO_01012026_RateCodes.csv', [
    'RateCode,Description,RateType',
    'OTHER,Other,TOU',
  ])
  clockMs += line.profile.rates.quietMinutes * 60_000
  await reconcile(line, back)
  t.match(await line.ledger.state(back), { status: 'quarantined', reason: /rate code RES/ })
  t.same(await statuses(), ['published', 'published'])
})

t.test('a schedule that has ended may be uploaded again, to come back into force', async (t) => {
  const arrive = createArrive(line.ledger, line.queues)
  const path = join(line.folders.uploads, 'DEMO_01012026_BillingCycles.csv')
  const state = await line.ledger.state((await arrive.find(path)) ?? 0)
  if (state === undefined) throw new Error('it is not known while it is on its way')
  await line.ledger.record({ ...state, settledAt: line.now() })
  t.equal(await arrive.find(path), undefined)
})

t.test('an upload that ends within a row is refused at once: all of it has come', async (t) => {
  const name = 'DEMO_03012026_RateCodes.csv'
  const cut = await send(name, ['RateCode,Description,RateType', 'RES,Residential,TOU', 'FLAT'])
  const fault = { status: 'quarantined', fault: 'TRUNCATED' }
  clockMs += line.profile.rates.quietMinutes * 60_000
  await reconcile(line, cut)
  t.match(await line.ledger.state(cut), fault)
})

t.test('a schedule of more rows than are judged in memory is refused before that', async (t) => {
  const rows = Array.from({ length: 500_001 }, () => '2026-07-03,Independence Day')
  const header = 'BillingCycleID,StartDate,EndDate'
  const arrival = await send('DEMO_02012026_BillingCycles.csv', [header, ...rows])
  const reason = /it has 500001 rows, a complete schedule 500000 at most/
  t.match(await line.ledger.state(arrival), { status: 'quarantined', fault: 'SCHEDULE', reason })
})

const listed = (name: string, more: Partial<Listed> = {}): Listed => ({
  ...{ source: 'inbox', name, path: `/inbox/${name}`, bytes: 10, modifiedMs: 0 },
  announced: false,
  ...more,
})

/** Polls the inbox; returns the arrivals whose names hold a text. */
async function look(at: Line, text: string, stillness: Stillness) {
  await poll(at, 'inbox', stillness)
  const { arrivals } = await line.ledger.unfinished()
  return arrivals.filter(({ name }) => name.includes(text))
}

t.test('files that a vendor names otherwise are a set as well', async (t) => {
  const fileNames = [{ like: '<Feed>-<YYYY>-<MM>-<DD>' }]
  const profile = { ...line.profile, fileNames }
  const stillness: Stillness = new Map()
  shown = ['RateCodes', 'RateTou'].map((feed) => listed(`${feed}-2026-01-04.csv`))
  const taken = () => look({ ...line, profile }, '-2026-01-04', stillness)
  t.same(await taken(), [], 'they wait for more of it')
  clockMs += profile.rates.quietMinutes * 60_000
  const [first] = await taken()
  t.equal((await line.ledger.claimedWith(first?.arrival ?? 0)).arrivals.length, 2)
})

t.test('the rest of a file that waits brings its set with it', async (t) => {
  const stillness: Stillness = new Map()
  const of = (feed: string, bytes: number) =>
    listed(`DEMO_05012026_${feed}.csv`, { bytes, announced: true, setAnnounced: true })
  const taken = () => look(line, 'DEMO_05012026', stillness)
  shown = [of('RateCodes', 10), of('RateTou', 10)]
  const [codes, tou] = await taken()
  if (codes === undefined || tou === undefined) throw new Error('they have not arrived')
  const waiting = { ...blankState(line, tou), status: 'waiting' } as const
  await line.ledger.record(blankState(line, codes), waiting)
  shown = [of('RateCodes', 10), of('RateTou', 99)]
  t.same(await taken(), [], 'it is not taken without the others')
  const again = await taken()
  t.same(again.map(({ bytes }) => bytes).sort(), [10, 99])
  const { arrivals } = await line.ledger.claimedWith(again[0]?.arrival ?? 0)
  t.equal(arrivals.length, 2)
})

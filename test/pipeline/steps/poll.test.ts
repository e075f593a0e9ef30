import { readFileSync } from 'node:fs'
import t from 'tap'
import { migrate } from '../../../infra/schema/migrate.js'
import { openHome } from '../../../infra/stack/home.js'
import { startServers } from '../../../infra/stack/servers.js'
import { createLog } from '../../../infra/telemetry/log.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { readHealed } from '../../../pipeline/ledger/healed.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import type { Listed, Source } from '../../../pipeline/sources/source.js'
import { readSources, recordPause } from '../../../pipeline/sources/state.js'
import { createStability, poll } from '../../../pipeline/steps/poll.js'
import { pollWhenDue, type Remembered } from '../../../pipeline/steps/poll-when-due.js'
import { blankState } from '../../../pipeline/steps/receive.js'
import { createStore } from '../../../pipeline/store/clickhouse.js'
import { Fault } from '../../../schemas/fault.js'
import { createZone } from '../../../schemas/time/zone.js'
import { anyPort } from '../../rig/any-port.js'
import { createFolder } from '../../rig/folder.js'
import { storyProfile } from '../../story/rig/stack.js'

const home = openHome(createFolder(t))
const profile = storyProfile({
  profile: {
    sources: [{ kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 1, settlePolls: 3 }],
  },
})
const log = createLog(`${home.logs}/test.log`, 'poll')
const port = anyPort()
const closers: (() => Promise<void>)[] = []
const ports = { clickhouse: port, redis: port + 1_000 }
const [servers, redis] = await startServers({ home, profile, log, ports }, closers)
const store = createStore(servers.store)
const queues = createQueues({ redisUrl: redis.redisUrl, prefix: 'poll' })
t.teardown(async () => {
  await queues.close()
  await store.close()
  for (const close of closers) await close()
})
await migrate(store, profile)

let clockMs = Date.UTC(2024, 2, 5)
const now = () => new Date(clockMs)
const ledger = createLedger(store, now)
let shown: Listed[] = []
let failing: Fault | undefined
let others = ''
const inMemory: Source = {
  name: 'inbox',
  keeps: false,
  list: async () => {
    if (failing !== undefined) throw failing
    return shown
  },
  read: () => t.fail('poll reads nothing') as never,
  settle: async () => undefined,
  others: () => others,
  close: async () => undefined,
}
const context: PipelineContext = {
  profile,
  zone: createZone(profile.timeZone),
  folders: home,
  machine: home.machine,
  store,
  ledger,
  queues,
  sources: new Map([['inbox', inMemory]]),
  storeLanding: undefined,
  mdm: undefined,
  now,
  log,
  notify: () => undefined,
}
const stability = createStability()
const remembered: Remembered = { stability }

const listed = (name: string, more: Partial<Listed> = {}): Listed => ({
  source: 'inbox',
  name,
  path: `/inbox/${name}`,
  bytes: 10,
  modifiedMs: clockMs,
  hasDoneFile: false,
  ...more,
})

/** Polls once, a second later; returns the names that have arrived so far. */
async function look(...files: readonly Listed[]): Promise<readonly string[]> {
  shown = [...files]
  clockMs += 1_000
  await poll(context, 'inbox', stability)
  const { arrivals } = await ledger.unfinished()
  return arrivals.map((arrival) => arrival.name)
}

t.test('a file is taken once it stood still over settlePolls polls, and once only', async (t) => {
  const growing = listed('still.csv')
  t.same(await look(growing), [])
  t.same(await look(growing), [])
  const grown = { ...growing, bytes: 20 }
  t.same(await look(grown), [], 'another size starts the count again')
  t.same(await look(grown), [])
  t.same(await look(grown), ['still.csv'])
  t.same(await look(grown), ['still.csv'])
  t.equal((await queues.counts()).receive['waiting'], 1, 'and one job is queued for it')
})

t.test('a file that was gone in between starts again', async (t) => {
  const file = listed('gone.csv')
  await look(file)
  await look(file)
  await look()
  t.notOk((await look(file)).includes('gone.csv'))
})

t.test('a waiting file is let go when the source shows another state of it', async (t) => {
  const cut = listed('cut.csv', { hasDoneFile: true })
  await look(cut)
  const { arrivals } = await ledger.unfinished()
  const arrival = arrivals.find((one) => one.name === 'cut.csv')
  if (arrival === undefined) throw new Error('it has not arrived')
  const cutShort = { status: 'waiting', fault: 'TRUNCATED' } as const
  await ledger.record({ ...blankState(context, arrival), ...cutShort })
  await look(cut)
  const state = await ledger.state(arrival.arrival)
  t.match(state, { status: 'waiting' }, 'the same state changes nothing')
  await look({ ...cut, bytes: 99 })
  t.match(await ledger.state(arrival.arrival), { status: 'replaced', settledAt: Date })
  const again = (await ledger.unfinished()).arrivals.find((one) => one.name === 'cut.csv')
  t.match(again, { bytes: 99 })
})

t.test('a file that waits is not let go for one that another source has there', async (t) => {
  await look(listed('shared.csv', { hasDoneFile: true }))
  const { arrivals } = await ledger.unfinished()
  const arrival = arrivals.find((one) => one.name === 'shared.csv')
  if (arrival === undefined) throw new Error('it has not arrived')
  const waiting: FileState = { ...blankState(context, arrival), status: 'waiting', source: 'other' }
  await ledger.record(waiting)
  await look(listed('shared.csv', { hasDoneFile: true, bytes: 99 }))
  t.match(await ledger.state(arrival.arrival), { status: 'waiting' })
})

t.test('a settled file that is there again with another time has come again', async (t) => {
  const file = listed('back.csv', { hasDoneFile: true })
  await look(file)
  const first = (await ledger.unfinished()).arrivals.find((one) => one.name === 'back.csv')
  if (first === undefined) throw new Error('it has not arrived')
  await ledger.record({ ...blankState(context, first), status: 'published', settledAt: now() })
  t.ok((await look(file)).includes('back.csv'))
})

t.test('a failing source is left alone for longer each time, and says how', async (t) => {
  const due = () => pollWhenDue(context, 'inbox', remembered)
  const state = async () => (await readSources(store)).get('inbox')
  const detail = 'mdm.example.com:22: connect ECONNREFUSED'
  failing = new Fault('SOURCE_UNREACHABLE', detail)
  const since = now()
  for (const [failures, pauseMs] of [1_000, 2_000, 4_000, 8_000].entries()) {
    await t.rejects(due(), failing)
    t.match((await state())?.failure, {
      failures: failures + 1,
      code: 'SOURCE_UNREACHABLE',
      detail,
      since,
      retryAt: new Date(clockMs + pauseMs),
    })
    clockMs += pauseMs - 1
    await t.resolves(due(), 'it is not tried a moment too early')
    clockMs += 1
  }
  clockMs -= 86_400_000
  await t.rejects(due(), failing, 'a clock that was ahead holds nothing up')
  failing = undefined
  clockMs += 86_400_000
  t.same(await readHealed(store, now()), [])
  await due()
  t.equal(await state(), undefined, 'it answers again')
  t.match(await readHealed(store, now()), [
    { kind: 'source', subject: 'inbox', beganAt: since, healedAt: now(), times: 1, detail },
  ])
})

t.test('what is not a file is recorded and logged once, until it changes', async (t) => {
  const lines = () => readFileSync(`${home.logs}/test.log`, 'utf8').split('not loaded: link').length
  const state = async () => (await readSources(store)).get('inbox')?.others
  const before = lines()
  others = 'not loaded: link a.csv'
  for (let round = 0; round < 3; round++) await pollWhenDue(context, 'inbox', remembered)
  t.equal(await state(), others)
  t.equal(lines(), before + 1)
  others = 'not loaded: link b.csv'
  await pollWhenDue(context, 'inbox', remembered)
  t.equal(await state(), others)
  t.equal(lines(), before + 2)
  others = ''
  await pollWhenDue(context, 'inbox', remembered)
  t.equal(await state(), undefined)
  t.equal(lines(), before + 2)
})

t.test('a fault that is not its own is not held against a source', async (t) => {
  failing = new Fault('STORE_UNREACHABLE', 'away')
  await t.rejects(pollWhenDue(context, 'inbox', remembered), failing)
  failing = undefined
  t.notOk((await readSources(store)).has('inbox'))
})

t.test('nothing is taken from a paused source', async (t) => {
  const due = () => pollWhenDue(context, 'inbox', remembered)
  const names = async () => (await ledger.unfinished()).arrivals.map((one) => one.name)
  shown = [listed('paused.csv', { hasDoneFile: true })]
  await recordPause(store, 'inbox', { active: true, at: now() })
  await due()
  t.notOk((await names()).includes('paused.csv'))
  t.same((await readSources(store)).get('inbox')?.pausedAt, now())
  clockMs += 1
  await recordPause(store, 'inbox', { active: false, at: now() })
  await due()
  t.ok((await names()).includes('paused.csv'))
})

t.test('a settled file that its source keeps has not come again; changed, it has', async (t) => {
  const keeping = { ...context, sources: new Map([['inbox', { ...inMemory, keeps: true }]]) }
  const file = listed('kept.csv', { hasDoneFile: true })
  const settle = async (one: Listed) => {
    shown = [one]
    await poll(keeping, 'inbox', stability)
    const arrivals = (await ledger.unfinished()).arrivals.filter(({ name }) => name === file.name)
    for (const arrival of arrivals)
      await ledger.record({
        ...blankState(context, arrival),
        status: 'published',
        settledAt: now(),
      })
    return arrivals.map(({ bytes }) => bytes)
  }
  t.same(await settle(file), [10])
  t.same(await settle(file), [])
  t.same(await settle({ ...file, bytes: 11 }), [11])
  t.same(await settle(file), [10], 'also where it is as it was before')
})

t.test('the files of a set are taken together after quietMinutes without a change', async (t) => {
  const codes = listed('DEMO_01012026_RateCodes.csv', { hasDoneFile: true })
  const quietMs = profile.rates.quietMinutes * 60_000
  const isTaken = async (...files: readonly Listed[]) =>
    (await look(...files)).some((name) => name.startsWith('DEMO_01012026_Rate'))
  t.notOk(await isTaken(codes), 'more of the set may follow, whatever is said of one file')
  clockMs += quietMs - 2_000
  t.notOk(await isTaken(codes), 'a second is left')
  const tou = listed('DEMO_01012026_RateTou.csv', { hasDoneFile: true })
  t.notOk(await isTaken(codes, tou), 'what joins the set begins the wait again')
  clockMs += quietMs - 2_000
  const other = { ...codes, bytes: 20 }
  t.notOk(await isTaken(other, tou), 'so does another size')
  clockMs += quietMs - 2_000
  t.notOk(await isTaken(other, tou))
  t.ok(await isTaken(other, tou))
  const names = (await ledger.unfinished()).arrivals.map((arrival) => arrival.name)
  t.ok([codes, tou].every(({ name }) => names.includes(name)))
  const next = listed('DEMO_02012026_RateTou.csv', { hasDoneFile: true })
  await look(next)
  clockMs -= 86_400_000
  t.ok((await look(next)).includes(next.name), 'a clock that was ahead holds nothing up')
})

t.test('the ledger is asked once for all files of a listing', async (t) => {
  const files = ['one.csv', 'two.csv', 'three.csv'].map((name) =>
    listed(name, { hasDoneFile: true }),
  )
  let asked = 0
  const unfinished = () => {
    asked++
    return ledger.unfinished()
  }
  const counting = { ...ledger, unfinished }
  shown = files
  await poll({ ...context, ledger: counting }, 'inbox', stability)
  t.equal(asked, 1)
  await poll({ ...context, ledger: counting }, 'inbox', stability)
  t.equal(asked, 1, 'and not at all where nothing is new')
  const names = (await ledger.unfinished()).arrivals.map((arrival) => arrival.name)
  t.ok(files.every((file) => names.includes(file.name)))
})

t.test('a source that the profile does not name is left alone', async (t) => {
  await t.resolves(poll(context, 'elsewhere', stability))
})

import t from 'tap'
import type { Listed } from '../../../pipeline/sources/source.js'
import { readSources, recordPause } from '../../../pipeline/sources/state.js'
import { createStability, poll } from '../../../pipeline/steps/poll.js'
import { pollWhenDue, type Remembered } from '../../../pipeline/steps/poll-when-due.js'
import { Fault } from '../../../schemas/fault.js'
import { storyProfile } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'

const line = await createLineByHand(t)
const asked: string[] = []
const name = 'DEMO_04112025_Electric.csv'
let files: readonly Listed[] = []
const source = {
  name: 'inbox',
  keeps: false,
  list: async () => files,
  read: () => {
    throw new Error('a poll reads nothing')
  },
  settle: async () => undefined,
  close: async () => undefined,
}
const { ledger, store } = line.context
const context = {
  ...line.context,
  profile: storyProfile({ profile: { sources: [{ kind: 'folder', name: 'inbox', path: 'in' }] } }),
  ledger: {
    ...ledger,
    knownOf: (of: typeof source) => {
      asked.push('ledger')
      return ledger.knownOf(of)
    },
  },
  store: {
    ...store,
    rows: ((statement) => {
      asked.push('store')
      return store.rows(statement)
    }) as typeof store.rows,
    runTask: async <T>(name: string, task: () => Promise<T>) => {
      asked.push(name)
      return store.runTask(name, task)
    },
  },
}

t.test('the ledger is asked for a source that lists something, or did', async (t) => {
  const stability = createStability()
  const look = async (keeps = false) => {
    asked.length = 0
    const sources = new Map([['inbox', { ...source, keeps }]])
    await poll({ ...context, sources }, 'inbox', stability)
    return [...asked]
  }
  const all = ['poll-inbox', 'ledger']
  t.same(await look(), [], 'an empty folder')
  const now = context.now().getTime()
  files = [{ source: 'inbox', name, path: '/in/1', bytes: 1, modifiedMs: now, hasDoneFile: false }]
  t.same(await look(), all)
  files = []
  t.same(await look(), all, 'a file that has gone')
  t.same(await look(), [])
  t.same(await look(true), all, 'settled files stay there')
})

t.test(
  'a source that needs nothing is listed, and for a minute nobody is asked about it',
  async (t) => {
    const quiet: Remembered = { stability: createStability() }
    let aheadMs = 0
    let failing: Fault | undefined
    const now = () => new Date(Date.now() + aheadMs)
    const look = async (keeps = false) => {
      asked.length = 0
      const list = async () => {
        if (failing !== undefined) throw failing
        return files
      }
      const sources = new Map([['inbox', { ...source, list, keeps }]])
      await pollWhenDue({ ...context, sources, now }, 'inbox', quiet)
      return asked.length > 0
    }
    const isTaken = async () => (await ledger.unfinished()).arrivals.length > 0
    files = []
    t.ok(await look())
    t.notOk(await look())
    aheadMs += 60_000
    t.ok(await look(), 'what another worker saw is seen after a minute')
    t.notOk(await look())
    aheadMs -= 86_400_000
    t.ok(await look(), 'a clock that was ahead holds nothing up')

    files = [{ source: 'inbox', name, path: '/in/2', bytes: 1, modifiedMs: 1, hasDoneFile: true }]
    await recordPause(store, 'inbox', { active: true, at: now() })
    t.ok(await look(true))
    t.notOk(await isTaken(), 'a pause counts before the minute is over')
    await recordPause(store, 'inbox', { active: false, at: now() })
    await look(true)
    t.ok(await isTaken())
    await look(true)
    t.notOk(await look(true), 'what a source keeps is in the ledger')
    files = files.map((file) => ({ ...file, bytes: 2 }))
    t.ok(await look(true), 'and changed it is not')

    files = []
    await look()
    t.notOk(await look())
    failing = new Fault('SOURCE_UNREACHABLE', 'away')
    await t.rejects(look(), failing, 'a failure is recorded at once')
    t.ok((await readSources(store)).get('inbox')?.failure)
    failing = undefined
    aheadMs += 60_000
    await look()
    t.notOk((await readSources(store)).get('inbox')?.failure)
  },
)

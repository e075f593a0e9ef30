import t from 'tap'
import type { Listed } from '../../../pipeline/sources/source.js'
import { poll } from '../../../pipeline/steps/poll.js'
import { storyProfile } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'

const line = await createLineByHand(t)
const asked: string[] = []
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
    runTask: async <T>(name: string, task: () => Promise<T>) => {
      asked.push(name)
      return store.runTask(name, task)
    },
  },
}

t.test('the ledger is asked for a source that lists something, or did', async (t) => {
  const stability = new Map()
  const look = async (keeps = false) => {
    asked.length = 0
    const sources = new Map([['inbox', { ...source, keeps }]])
    await poll({ ...context, sources }, 'inbox', stability)
    return [...asked]
  }
  const all = ['poll-inbox', 'ledger']
  t.same(await look(), [], 'an empty folder')
  const name = 'DEMO_04112025_Electric.csv'
  const now = context.now().getTime()
  files = [{ source: 'inbox', name, path: '/in/1', bytes: 1, modifiedMs: now, hasDoneFile: false }]
  t.same(await look(), all)
  files = []
  t.same(await look(), all, 'a file that has gone')
  t.same(await look(), [])
  t.same(await look(true), all, 'settled files stay there')
})

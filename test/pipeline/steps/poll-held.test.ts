import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readOpenWaits, readProblemsOf } from '../../../infra/operations/problems.js'
import { createFolder as createFolderSource } from '../../../pipeline/sources/folder.js'
import { createStability } from '../../../pipeline/steps/poll.js'
import { pollOrHold, pollWhenDue } from '../../../pipeline/steps/poll-when-due.js'
import { Fault, type FaultCode } from '../../../schemas/fault.js'
import type { SettingsOf } from '../../../schemas/settings/source.js'
import { createFolder } from '../../rig/folder.js'
import { storyProfile } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'
import { createBroker } from '../queues/broker.js'

const { context: line } = await createLineByHand(t)
const { newQueues } = await createBroker(t)
const { queues } = newQueues(t)
const folder = createFolder(t)
const share = { kind: 'folder', name: 'share', path: folder }
const profile = storyProfile({ profile: { sources: [share] } })
const [settings] = profile.sources as [SettingsOf<'folder'>]
let refusal: Fault | undefined
const context = {
  ...line,
  profile,
  queues: { ...line.queues, polls: queues.polls },
  sources: new Map([['share', createFolderSource({ ...line.folders, settings, naming: profile })]]),
  ledger: {
    ...line.ledger,
    claimAll: async (entries: Parameters<typeof line.ledger.claimAll>[0]) => {
      if (refusal) throw refusal
      return line.ledger.claimAll(entries)
    },
  },
}
const remembered = { stability: createStability() }
const look = () => pollOrHold(context, 'share', () => pollWhenDue(context, 'share', remembered))
const waiting = async () => (await readProblemsOf({ store: line.store, queues })).waiting
const refuse = (code: FaultCode, error: string) => {
  refusal = new Fault(code, `${error}; in: INSERT INTO arrival`)
}

t.test('new files that ClickHouse does not let claim are listed with the reason', async (t) => {
  const path = join(folder, 'DEMO_05032026_Electric.csv')
  writeFileSync(path, 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit\n')
  writeFileSync(`${path}.done`, '')
  refuse('STORE_UNREACHABLE', 'TOO_MANY_PARTS (252)')
  await t.rejects(look(), { code: 'STORE_UNREACHABLE' })
  const [first] = await waiting()
  t.match(first, {
    key: 'waiting:source:share',
    file: 'new files of source share',
    code: 'STORE_UNREACHABLE',
    reason: /^ClickHouse refused the last attempt with TOO_MANY_PARTS \(252\); /,
    todo: /./,
  })
  await t.rejects(look(), { code: 'STORE_UNREACHABLE' })
  t.same(await waiting(), [first], 'since the first failure, once')
  t.match(await readOpenWaits({ store: line.store, queues }), [{ job: 'poll', source: 'share' }])
})

t.test('also what does not pass by itself', async (t) => {
  refuse('STORE_REFUSED', 'NO_SUCH_COLUMN_IN_TABLE (16)')
  await t.rejects(look(), { code: 'STORE_REFUSED' })
  t.match(await waiting(), [{ code: 'STORE_REFUSED', reason: /^NO_SUCH_COLUMN_IN_TABLE/ }])
})

t.test('a source that was removed waits no longer', async (t) => {
  await queues.polls.hold('gone', new Fault('STORE_UNREACHABLE', 'away'))
  await queues.polls.keep(['share'])
  t.match(await waiting(), [{ key: 'waiting:source:share' }])
})

t.test('they are claimed and listed no more when it takes inserts again', async (t) => {
  refusal = undefined
  await look()
  t.same(await waiting(), [])
  t.equal((await line.ledger.unfinished()).arrivals.length, 1)
})

import t from 'tap'
import type { Listed, Source } from '../../../pipeline/sources/source.js'
import { createStability, poll, type Stability } from '../../../pipeline/steps/poll.js'
import { storyProfile } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'

const line = await createLineByHand(t)
const hourMs = 3_600_000
let clockMs = Date.now()
let shown: readonly Listed[] = []
const source: Source = {
  name: 'inbox',
  keeps: false,
  list: async () => shown,
  read: () => t.fail('poll reads nothing') as never,
  settle: async () => undefined,
  close: async () => undefined,
}
const settings = { kind: 'folder', name: 'inbox', path: 'in', settlePolls: 3 }
const context = {
  ...line.context,
  profile: storyProfile({ profile: { sources: [settings] } }),
  sources: new Map([['inbox', source]]),
  now: () => new Date(clockMs),
}

/** Polls once, a second later; returns whether the file has arrived. */
async function isTaken(stability: Stability, file: Partial<Listed> & { readonly name: string }) {
  const { name } = file
  const own = { source: 'inbox', path: `/in/${name}`, bytes: 10, hasDoneFile: false }
  clockMs += 1_000
  shown = [{ modifiedMs: clockMs, ...own, ...file }]
  await poll(context, 'inbox', stability)
  return (await context.ledger.latest({ path: own.path })) !== undefined
}

t.test('what rests when a worker starts is taken at once, unless it has no time', async (t) => {
  const isTakenFirst = (name: string, modifiedMs: number) =>
    isTaken(createStability(), { name, modifiedMs })
  t.ok(await isTakenFirst('rested.csv', clockMs - 61_000))
  for (const none of [0, Number.NaN]) t.notOk(await isTakenFirst(`${none}.csv`, none))
})

t.test('what has a done-file is taken at once, and what rests for a minute then', async (t) => {
  const stability = createStability()
  t.ok(await isTaken(stability, { name: 'announced.csv', hasDoneFile: true }))
  const slow = { name: 'slow.csv', modifiedMs: clockMs }
  t.notOk(await isTaken(stability, slow))
  clockMs += 60_000
  t.ok(await isTaken(stability, slow))
  const ahead = { name: 'ahead.csv', modifiedMs: clockMs + hourMs }
  t.notOk(await isTaken(stability, ahead), 'a clock that is ahead makes none rest')
})

t.test('a file that is younger than its time is not taken for one that rests', async (t) => {
  const stability = createStability()
  const local = { name: 'local.csv', modifiedMs: clockMs - 5 * hourMs }
  await isTaken(stability, { name: 'another.csv' })
  t.notOk(await isTaken(stability, local), 'the poll before did not have it')
  const grown = { ...local, bytes: 20, modifiedMs: local.modifiedMs + 2_000 }
  t.notOk(await isTaken(stability, grown), 'nor the bytes that it has now')
  t.notOk(await isTaken(stability, grown))
  t.ok(await isTaken(stability, grown), 'it stood still over settlePolls polls')
})

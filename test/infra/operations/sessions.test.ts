import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createPageSessions } from '../../../infra/operations/sessions.js'

const limits = { idleMs: 100, ageMs: 1_000, perUser: 2 }

t.test('a session ends when it is not used, and at its age', async (t) => {
  let now = 0
  const sessions = createPageSessions(limits, () => now)
  const idle = sessions.begin('ann')
  now = 99
  t.equal(sessions.find(idle), 'ann')
  now = 198
  t.equal(sessions.find(idle), 'ann', 'its use began the time again')
  now = 298
  t.equal(sessions.find(idle), undefined)
  now = 299
  t.equal(sessions.find(idle), undefined, 'it stays ended')
  const used = sessions.begin('ann')
  for (const end = now + 950; now < end; now += 50) t.equal(sessions.find(used), 'ann')
  now += 50
  t.equal(sessions.find(used), undefined, 'used or not, it ends at its age')
})

t.test('of one user the session that was unused for longest makes place', async (t) => {
  let now = 0
  const sessions = createPageSessions(limits, () => now++)
  const [first, second, other] = ['ann', 'ann', 'bob'].map(sessions.begin)
  sessions.find(first ?? '')
  const third = sessions.begin('ann')
  t.equal(sessions.find(first ?? ''), 'ann')
  t.equal(sessions.find(second ?? ''), undefined)
  t.equal(sessions.find(third), 'ann')
  t.equal(sessions.find(other ?? ''), 'bob')
})

t.test('an id is random, and ends with its session', async (t) => {
  const sessions = createPageSessions()
  const ids = new Set(Array.from({ length: 10 }, () => sessions.begin('ann')))
  t.equal(ids.size, 10)
  for (const id of ids) t.match(id, /^[\w-]{43}$/)
  const [id = ''] = ids
  sessions.end(id)
  t.equal(sessions.find(id), undefined)
  for (const wrong of ['', 'x', '__proto__', id.slice(1)]) t.equal(sessions.find(wrong), undefined)
})

t.test('a clock that is set back does not keep a session', async (t) => {
  const sessions = createPageSessions({ ...limits, idleMs: 20 })
  const id = sessions.begin('ann')
  const dayAgo = Date.now() - 86_400_000
  t.intercept(Date, 'now', { value: () => dayAgo })
  await sleep(30)
  t.equal(sessions.find(id), undefined)
})

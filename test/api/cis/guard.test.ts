import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import type { Cis } from '../../../api/cis/cis.js'
import { guardCis } from '../../../api/cis/guard.js'
import { Fault } from '../../../schemas/fault.js'

const record = {
  record: { clientId: 'C-1' },
  locked: undefined,
  attemptsRemaining: undefined,
  problems: [],
}

/** A driver that counts how often it is asked. */
const counting = (answer: () => Promise<typeof record | undefined>) => {
  const cis: Cis & { asked: number } = {
    asked: 0,
    fetch: () => {
      cis.asked++
      return answer()
    },
    close: async () => undefined,
  }
  return cis
}

t.test('a customer that several ask for at once is fetched once', async (t) => {
  const cis = counting(() => sleep(20).then(() => record))
  const guarded = guardCis(cis, { breakerFailures: 3, breakerSeconds: 5, now: Date.now })
  const all = await Promise.all(Array.from({ length: 50 }, () => guarded.fetch('C-1')))
  t.ok(all.every((one) => one === record))
  t.equal(cis.asked, 1)
  await Promise.all([guarded.fetch('C-1'), guarded.fetch('C-2')])
  t.equal(cis.asked, 3, 'asked again afterwards, and for each customer')
})

t.test('a CIS that keeps failing is left alone for a while, then one tries first', async (t) => {
  let clock = 0
  let fails = true
  const away = new Fault('CIS_UNREACHABLE', 'away')
  const cis = counting(async () => {
    await sleep(5)
    if (fails) throw away
    return record
  })
  const guarded = guardCis(cis, { breakerFailures: 3, breakerSeconds: 5, now: () => clock })
  for (const clientId of ['a', 'b', 'c']) await t.rejects(guarded.fetch(clientId), away)
  await t.rejects(guarded.fetch('d'), {
    code: 'CIS_UNREACHABLE',
    message: /away; not called for up to 5 s after 3 failures in a row/,
  })
  t.equal(cis.asked, 3)
  clock = 5_001
  const [first, second] = await Promise.allSettled([guarded.fetch('e'), guarded.fetch('f')])
  t.same([first?.status, second?.status], ['rejected', 'rejected'])
  t.equal(cis.asked, 4, 'one tried')
  clock = 10_100
  fails = false
  t.equal(await guarded.fetch('g'), record)
  t.equal(await guarded.fetch('h'), record, 'closed again')
})

t.test('an answer that is not a customer does not open the breaker', async (t) => {
  const cis = counting(() => Promise.reject(new Fault('CIS_ANSWER', 'not whole')))
  const guarded = guardCis(cis, { breakerFailures: 2, breakerSeconds: 5, now: () => 0 })
  for (const clientId of ['a', 'b', 'c', 'd']) {
    await t.rejects(guarded.fetch(clientId), { code: 'CIS_ANSWER' })
  }
  t.equal(cis.asked, 4)
})

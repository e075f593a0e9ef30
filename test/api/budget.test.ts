import { t } from 'tap'
import { createBudget } from '../../api/budget.js'

t.test('refused tokens cost processor time up to the budget, accepted ones none', (t) => {
  let clock = 0
  let runs = 0
  const spend = createBudget({ msPerSecond: 100, msEachMax: 60, now: () => clock })
  const work = (ms: number) => () => {
    runs++
    clock += ms
    return ms
  }
  const good = () => spend(work(60), () => false)
  const bad = () => spend(work(60), () => true)
  for (let count = 0; count < 10; count++) good()
  bad()
  bad()
  const before = runs
  t.throws(bad, { code: 'OVERLOAD', detail: /100 ms/ })
  t.throws(good, { code: 'OVERLOAD' })
  t.equal(runs, before, 'nothing runs while it is spent')
  clock += 500
  t.equal(good(), 60)
  clock += 3_600_000
  bad()
  bad()
  t.throws(bad, { code: 'OVERLOAD' }, 'an hour without refusals saves no more than a second')
  t.end()
})

t.test('a slow first refusal after a start or a quiet time costs others nothing', (t) => {
  let clock = 0
  const spend = createBudget({ msPerSecond: 100, msEachMax: 10, now: () => clock })
  const judge = (ms: number, isBad: boolean) =>
    spend(
      () => (clock += ms),
      () => isBad,
    )
  for (let quiet = 0; quiet < 3; quiet++) {
    t.doesNotThrow(() => judge(400, false), 'the first one')
    for (let count = 0; count < 10; count++) judge(count === 0 ? 900 : 1, true)
    t.doesNotThrow(() => judge(400, false), 'behind refused ones, of which the first was slow')
    clock += 60_000
  }
  for (let count = 0; count < 200; count++) judge(40, false)
  t.end()
})

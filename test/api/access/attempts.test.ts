import { t } from 'tap'
import { createAttempts } from '../../../api/access/attempts.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { migratedStore } from '../../pipeline/customers/registering.js'

t.test('what was just counted costs no query, whichever tokens follow', async (t) => {
  const real = await migratedStore(t)
  let queries = 0
  const store: Store = {
    ...real,
    rows: (query) => {
      queries++
      return real.rows(query)
    },
  }
  let clock = Date.now()
  const attempts = createAttempts({ store, key: 'key', now: () => new Date(clock) })
  const count = (token: string) =>
    attempts.count({ clientId: 'C-1', token, reason: 'revoked', isLocked: () => false })
  const crowd = (toToken: (at: number) => string) =>
    Promise.all(Array.from({ length: 200 }, (_, at) => count(toToken(at))))
  t.same(new Set(await crowd(() => 'first')), new Set([1]))
  const once = queries
  await crowd(() => 'first')
  t.equal(queries, once, 'one token 200 times')
  t.same([await count('second'), await count('third'), await count('fourth')], [2, 3, 3])
  const spent = queries
  t.same(new Set(await crowd((at) => `more ${at}`)), new Set([3]))
  t.equal(await count('first'), 1, 'the same answer as before')
  t.equal(queries, spent, '200 tokens of a customer who has no attempt left')
  clock += 5_001
  t.equal(await count('first'), 1)
  t.ok(queries > spent, 'for 5 seconds')
})

import t from 'tap'
import { claimNext, claimOnce } from '../../../pipeline/store/claim.js'
import type { Settings, Statement, Store } from '../../../pipeline/store/clickhouse.js'
import { sql } from '../../../pipeline/store/sql.js'
import { statementText } from '../../rig/statements/statement-text.js'

/** The store has one server. */
const isOfServer = (statement: Statement) => statementText(statement).includes('system.')

/** Keeps the first insert of a token, as the engine does; a SELECT returns what `own` filters. */
function createTokens() {
  const kept = new Map<string, readonly object[]>()
  const storeOf = (claim: string): Pick<Store, 'insert' | 'rows'> => ({
    insert: async (_table: string, rows: readonly object[], settings?: Settings) => {
      t.equal(settings?.['insert_deduplicate'], 1)
      const token = String(settings?.['insert_deduplication_token'])
      if (!kept.has(token)) kept.set(token, rows)
    },
    rows: async <T>(statement: Statement) => {
      const own = [...kept.values()].flat().filter((row) => 'claim' in row && row.claim === claim)
      return (isOfServer(statement) ? [] : own) as readonly object[] as readonly T[]
    },
  })
  return { kept, storeOf: (claim: string) => storeOf(claim) as Store }
}

t.test('of two who bid for one number the first gets it, the other gets nothing', async (t) => {
  const { storeOf } = createTokens()
  const bid = (claim: string) => ({ token: 'x-1', rows: [{ claim }], own: sql`SELECT 1` })
  t.same(await claimOnce(storeOf('a'), 'x', bid('a')), [{ claim: 'a' }])
  t.same(await claimOnce(storeOf('b'), 'x', bid('b')), [])
  t.same(await claimOnce(storeOf('a'), 'x', bid('a')), [{ claim: 'a' }], 'a repeated bid holds')
})

t.test('after a loss the next number is derived again', async (t) => {
  const { kept, storeOf } = createTokens()
  for (const number of [1, 2, 3]) kept.set(`x-${number}`, [{ claim: 'other', number }])
  let number = 0
  const rows = await claimNext(storeOf('a'), 'x', async () => {
    number++
    return { token: `x-${number}`, rows: [{ claim: 'a', number }], own: sql`SELECT 1` }
  })
  t.same(rows, [{ claim: 'a', number: 4 }])
})

t.test('claims of one process take turns, so that none loses to another', async (t) => {
  const { kept, storeOf } = createTokens()
  const store = storeOf('a')
  let derived = 0
  const claim = (table: string) =>
    claimNext(store, table, async () => {
      derived++
      const number = [...kept.keys()].filter((token) => token.startsWith(table)).length + 1
      return { token: `${table}-${number}`, rows: [{ claim: 'a' }], own: sql`SELECT 1` }
    })
  const failed = claimNext(store, 'x', async () => {
    throw new Error('no answer')
  })
  await Promise.all([
    t.rejects(failed, { message: 'no answer' }),
    ...['x', 'x', 'y', 'x', 'y'].map(claim),
  ])
  t.same([...kept.keys()].toSorted(), ['x-1', 'x-2', 'x-3', 'y-1', 'y-2'])
  t.equal(derived, 5, 'once for each, also behind one that fails')
})

t.test('a claim that gets no answer holds up the next one for some seconds only', async (t) => {
  const { storeOf } = createTokens()
  const store = storeOf('a')
  const bid = { token: 'x-1', rows: [{ claim: 'a' }], own: sql`SELECT 1` }
  void claimNext(store, 'x', () => new Promise(() => undefined))
  t.same(await claimNext(store, 'x', async () => bid), [{ claim: 'a' }])
})

t.test('a number whose only copy was lost is claimed again, by one', async (t) => {
  const { kept, storeOf } = createTokens()
  kept.set('x-1', [])
  const claims = ['a', 'b'].map((claim) =>
    claimNext(storeOf(claim), 'x', async () => {
      const number = [...kept.values()].flat().length + 1
      return { token: `x-${number}`, rows: [{ claim, number }], own: sql`SELECT 1` }
    }),
  )
  const numbers = (await Promise.all(claims))
    .flat()
    .map((row) => (row as { number: number }).number)
  t.same(numbers.toSorted(), [1, 2])
})

t.test('a number that a replica shows late is not claimed again', async (t) => {
  const { kept, storeOf } = createTokens()
  const honest = storeOf('a')
  let reads = 0
  const lagging: Store = {
    ...honest,
    rows: async (statement) => (++reads === 1 ? [] : honest.rows(statement)),
  }
  const rows = await claimNext(lagging, 'x', async () => {
    const number = kept.size + 1
    return { token: `x-${number}`, rows: [{ claim: 'a', number }], own: sql`SELECT 1` }
  })
  t.same(rows, [{ claim: 'a', number: 1 }])
  t.equal(kept.size, 1)
})

t.test('what stops it from reading the number is thrown', async (t) => {
  const fails = async () => Promise.reject(new Error('the store is away'))
  await t.rejects(claimNext(createTokens().storeOf('a'), 'x', fails), /the store is away/)
})

import t from 'tap'
import { failFile } from '../../../pipeline/fail-file.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { publishSubjects } from '../../../pipeline/ledger/publication.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { randomFrom } from '../../rig/sample.js'
import { createLineByHand } from '../by-hand.js'
import { aroundWrites } from '../dying.js'

const line = await createLineByHand(t)
const { store } = line.context

interface Numbered {
  readonly seq: string
  readonly at: string
}

const numbers = () =>
  store.rows<Numbered>({
    sql: `SELECT toString(published_seq) AS seq, toString(published_at) AS at FROM publication
      ORDER BY published_seq`,
  })

/** Numbers without a gap, and instants that never run backwards. */
function isInOrder(rows: readonly Numbered[]): boolean {
  return rows.every(({ seq, at }, index) => {
    return Number(seq) === index + 1 && at >= (rows[index - 1]?.at ?? '')
  })
}

/** As another process has it: calls of one process take turns. */
const asOther = (): Store => ({ ...store })

const seed = Date.now() & 0x7fffffff
const random = randomFrom(seed)
/** A clock that is set back and forth by hours. */
const wildClock = () => new Date(Date.now() + (random() - 0.5) * 7_200_000)

t.test(`numbers have no gap and instants grow, whoever publishes at once (${seed})`, async (t) => {
  let isDone = false
  const publishers = Array.from({ length: 6 }, async (_, at) => {
    const publisher = { store: asOther(), now: wildClock }
    for (let count = 0; count < 5; count++) {
      const runs = Array.from({ length: 1 + (count % 2) }, (_, of) => `${at}-${count}-${of}`)
      const own = await publishSubjects(
        publisher,
        runs.map((run) => ({ kind: 'bills', run }) as const),
      )
      t.equal(own.length, runs.length)
    }
  })
  const watching = (async () => {
    while (!isDone) {
      const seen = await numbers()
      t.ok(isInOrder(seen), 'who sees a number has seen all before it')
    }
  })()
  await Promise.all(publishers)
  isDone = true
  await watching
  const all = await numbers()
  t.ok(isInOrder(all))
  t.equal(all.length, 6 * (3 + 2 * 2))
})

const rows = (quantity: string) => [`A,S,M1,1/5/2026 1:00,${quantity}`, 'A,S,M1,1/5/2026 1:15,1']

/** A line whose store dies at a write: before it is carried out, or after. */
function dyingAt(table: string, moment: 'before' | 'after') {
  const dying = aroundWrites(store, async (write, text) => {
    if (text !== `INSERT INTO ${table}`) return write()
    if (moment === 'after') await write()
    throw new Error('killed')
  })
  const { context } = line
  return { ...context, store: dying, ledger: createLedger(dying, context.now) }
}

const readsOf = (arrival: number) =>
  store.rows({
    sql: `SELECT DISTINCT published_seq FROM usage
      WHERE meter_id = 'M1' AND bitShiftRight(version, 32) = {arrival:UInt32}`,
    parameters: { arrival },
  })

for (const [at, moment] of (['before', 'after'] as const).entries()) {
  t.test(
    `a worker killed ${moment} it takes a number loses none and gives none twice`,
    async (t) => {
      const arrival = await line.takeIn(`DEMO_0${at + 1}022026_Electric.csv`, rows(`${at + 2}`))
      const before = await numbers()
      await t.rejects(reconcile(dyingAt('publication', moment), arrival), /killed/)
      const isNumbered = moment === 'after'
      const seq = String(before.length + (isNumbered ? 1 : 2))
      t.same(await readsOf(arrival), [{ published_seq: isNumbered ? seq : null }])
      t.match(
        await store.rows({
          sql: 'SELECT status FROM file_load WHERE arrival = {arrival:UInt32}',
          parameters: { arrival },
        }),
        [{ status: isNumbered ? 'published' : 'publishing' }],
      )
      await publishSubjects(line.context, [{ kind: 'bills', run: `beside-${moment}` }])
      await reconcile(line.context, arrival)
      t.same(await readsOf(arrival), [{ published_seq: seq }])
      t.ok(isInOrder(await numbers()))
      t.equal((await numbers()).length, before.length + 2)
      const state = await line.context.ledger.state(arrival)
      t.equal(state?.status, 'published')
      const [published] = await store.rows<{ at: string }>({
        sql: `SELECT toString(toUnixTimestamp64Milli(published_at)) AS at FROM publication
        WHERE published_seq = {seq:UInt64}`,
        parameters: { seq },
      })
      t.equal(String(state?.publishedAt?.getTime()), published?.at)
    },
  )
}

t.test('a file that readers see is never taken back', async (t) => {
  const arrival = await line.takeIn('DEMO_05022026_Electric.csv', rows('9'))
  await t.rejects(reconcile(dyingAt('publication', 'after'), arrival), /killed/)
  await failFile(line.context, { job: 'reconcile', arrival }, new Error('all attempts failed'))
  t.equal((await line.context.ledger.state(arrival))?.status, 'published')
  t.equal((await readsOf(arrival)).length, 1)
})

t.test('a file that another worker publishes meanwhile keeps its number', async (t) => {
  const subjects = [{ kind: 'file', arrival: 99, fileId: 'f' }] as const
  const overtaken: Store = {
    ...store,
    insert: async (...row) => {
      await publishSubjects({ store: asOther(), now: wildClock }, subjects)
      return store.insert(...row)
    },
  }
  const own = await publishSubjects({ store: overtaken, now: wildClock }, subjects)
  const found = await store.rows({
    sql: 'SELECT toUInt32(published_seq) AS seq, arrival FROM publication WHERE arrival = 99',
  })
  t.equal(found.length, 1)
  t.match(own, found)
})

/**
 * # 4.7 Changes are pulled
 *
 * What: Publications are numbered without a gap, and who pulls by the numbers has what the view has.
 * Why: A copy of the data that misses a correction, or keeps the reads of a former customer, is
 * wrong for good.
 * Try: Run the first queries of infra/guides/query.md, load a correction, and run them again.
 */
import t from 'tap'
import { endClients, register } from '../../../pipeline/customers/registrations.js'
import { createConsumer } from '../../pipeline/customers/consumer.js'
import { customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t)
const consumer = createConsumer(story.reader)
const registering = registeringAt(story.store)
const at = { clientId: 'pia', accountNumber: 'A', meterId: 'M' }

const textOf = (...rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`
/** A read of an hour of 4 March. */
const row = (hour: number, quantity = hour) => `A,S,M,3/4/2024 ${hour}:00,${quantity}`
const nameOf = (day: number) => `DEMO_${String(day).padStart(2, '0')}032024_Electric.csv`

/** All numbers that the views give, of files and of changes. */
async function numbers(): Promise<readonly number[]> {
  const rows = await story.reader.rows<{ seq: number }>({
    sql: `SELECT DISTINCT toUInt32(published_seq) AS seq FROM
      (SELECT published_seq FROM file_load WHERE published_seq IS NOT NULL
        UNION ALL SELECT published_seq FROM usage_change) ORDER BY seq`,
  })
  return rows.map(({ seq }) => seq)
}
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

t.test('files that are loaded at once have numbers without a gap, refused ones none', async (t) => {
  const files = Array.from({ length: 6 }, (_, index): [string, string] => [
    nameOf(index + 5),
    index === 2 ? 'no usage\n' : textOf(row(index + 1)),
  ])
  const receipts = await story.loadAll(Object.fromEntries(files))
  const statuses = receipts.map(({ status }) => status)
  t.same(
    statuses,
    statuses.map((_, index) => (index === 2 ? 'quarantined' : 'published')),
  )
  t.same(await numbers(), upTo(5))
  const order = await story.reader.rows({
    sql: `SELECT countIf(at < before) AS back FROM
      (SELECT published_at AS at, lagInFrame(published_at) OVER (ORDER BY published_seq) AS before
        FROM file_load WHERE published_seq IS NOT NULL)`,
  })
  t.match(order, [{ back: '0' }], 'and their times never run backwards')
})

t.test('who pulls by the number has each row once, with a correction too', async (t) => {
  await register(registering, [customerAt(at)])
  await consumer.pull()
  t.equal(consumer.rows.size, 5)
  const [before = 0] = (await numbers()).slice(-1)
  t.match(await story.loadBytes(nameOf(20), textOf(row(2, 20), row(9))), { status: 'published' })
  const fresh = await story.reader.rows({
    sql: `SELECT toFloat64(quantity) AS quantity FROM registered_usage
      WHERE published_seq > {before:UInt64} ORDER BY starts_at`,
    parameters: { before },
  })
  t.same(fresh, [{ quantity: 20 }, { quantity: 9 }], 'just what the file has changed')
  await consumer.pull()
  t.equal(consumer.rows.size, 6)
  t.same(await consumer.differences(), [])
})

t.test('a customer who leaves is a change with a number, though no row is new', async (t) => {
  await endClients(registering, [at.clientId], 'left')
  const changes = await story.reader.rows({
    sql: `SELECT cause, meter_id, client_ids_before AS before, client_ids_after AS after
      FROM usage_change ORDER BY published_seq DESC LIMIT 1`,
  })
  t.same(changes, [{ cause: 'ownership', meter_id: 'M', before: ['pia'], after: [] }])
  await consumer.pull()
  t.same([...consumer.rows], [], 'the copy has none of the reads either')
  t.same(await consumer.differences(), [])
  const all = await numbers()
  t.same(all, upTo(all.length), 'still without a gap')
})

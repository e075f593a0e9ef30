import t, { type Test } from 'tap'
import { gather } from '../../../pipeline/groups/gather.js'
import { isGroup } from '../../../pipeline/ledger/file-state.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { sweep } from '../../../pipeline/steps/sweep.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { literal, sql } from '../../../pipeline/store/sql.js'
import { arrivalOf } from '../../../pipeline/store/versions.js'
import { createFolder } from '../../rig/folder.js'
import { sample } from '../../rig/sample.js'
import { createLineByHand, createLineOn, type LineByHand } from '../by-hand.js'
import { dyingStore } from '../dying.js'
import { rememberJobs, runAll } from './rig.js'

/** The same line in a process that dies at a write. */
function dying(line: LineByHand, death: Parameters<typeof dyingStore>[1]) {
  const { mortal: store, died } = dyingStore(line.context.store, death)
  const context = { ...line.context, store, ledger: createLedger(store, line.context.now) }
  return { line: { ...line, context }, died }
}

const hours = Array.from({ length: 24 }, (_, hour) => hour)

/** Four files of a meter each; the last has a row that is rejected. */
function filesOf(name: string) {
  return ['1', '2', '3', '4'].map((meter) => ({
    name: `DEMO_02022026_Electric_${name}${meter}.csv`,
    rows: hours.map((hour) => {
      const quantity = meter === '4' && hour === 5 ? 'x' : '1.5'
      return `A,S,M${name}${meter},2/1/2026 ${hour}:00,${quantity}`
    }),
  }))
}

/** Takes up what a dead process left, as the sweep does, until nothing is left. */
async function takeUp(line: LineByHand): Promise<void> {
  const queued = rememberJobs(line)
  for (let round = 0; round < 5; round++) {
    const { arrivals, states } = await line.context.ledger.unfinished()
    if (arrivals.length + states.length === 0) return
    const numbers = arrivals.map(({ arrival }) => arrival)
    if (numbers.length > 0) await gather(line.context, numbers)
    await sweep(line.context)
    await runAll(line, queued)
  }
  throw new Error('the files were not finished in five sweeps')
}

/** What is stored and recorded of some arrivals. */
async function readEnds(store: Store, arrivals: readonly number[]): Promise<readonly unknown[]> {
  const own = sql`${arrivalOf} IN ${literal(arrivals)}`
  const of = sql`arrival IN ${literal(arrivals)}`
  const rows = await Promise.all([
    store.rows({
      sql: sql`SELECT status, rows_read, rows_accepted, rows_rejected, quantity_accepted,
          settled_at IS NOT NULL AS is_settled FROM file_state FINAL WHERE ${of} ORDER BY arrival`,
    }),
    store.rows({
      sql: sql`SELECT count() AS rows, uniqExact(version) AS versions, sum(quantity) AS quantity
        FROM usage_read WHERE ${own}`,
    }),
    store.rows({
      sql: sql`SELECT kind, rows, quantity FROM published_rows FINAL WHERE ${of} ORDER BY arrival`,
    }),
    store.rows({ sql: sql`SELECT count() AS numbers FROM publication WHERE ${of}` }),
    store.rows({
      sql: sql`SELECT line, code FROM reject FINAL WHERE ${of} ORDER BY arrival, line`,
    }),
  ])
  return rows
}

const whole = await createLineByHand(t)
const { store } = whole.context

async function arriveAll(line: LineByHand, name: string): Promise<readonly number[]> {
  const arrivals: number[] = []
  for (const file of filesOf(name)) arrivals.push((await line.arrive(file.name, file.rows)).arrival)
  return arrivals
}

const first = await arriveAll(whole, '0')
await takeUp(whole)
const expected = await readEnds(store, first)

/** Cuts a group short at one of its writes, and has another process take it up. Whether it came so far. */
async function cutShort(t: Test, at: number, when: 'before' | 'behind'): Promise<boolean> {
  const line = createLineOn(store, createFolder(t))
  const arrivals = await arriveAll(line, `${at}${when === 'before' ? 1 : 2}0`)
  const mortal = dying(line, { at, when })
  const queued = rememberJobs(mortal.line)
  const run = async () => {
    await gather(mortal.line.context, arrivals)
    await runAll(mortal.line, queued)
  }
  await run().catch((error: unknown) => {
    if (!mortal.died()) throw error
  })
  await takeUp(line)
  t.strictSame(await readEnds(store, arrivals), expected, `cut short ${when} write ${at}`)
  return mortal.died()
}

/** Each write in the long run; in a short one those of every sixth, before and behind in turn. */
const step = sample({ short: 6, long: 1 })

t.test('a group that is cut short at any write ends as if it was not', async (t) => {
  let isOver = false
  let at = 1
  for (let turn = 0; !isOver; turn++, at += step) {
    const isEven = turn % 2 === 0
    const reached = [
      (step === 1 || isEven) && !(await cutShort(t, at, 'before')),
      (step === 1 || !isEven) && !(await cutShort(t, at, 'behind')),
    ]
    isOver = reached.includes(true)
  }
  t.ok(at > 20, 'a group has that many writes')
  await sweep(whole.context)
  const left = await store.rows<{ readonly number: string }>({
    sql: sql`SELECT DISTINCT extract(name, '^staging_(\\d+)_') AS number FROM system.tables
      WHERE database = currentDatabase() AND startsWith(name, 'staging_')`,
  })
  const files = left.filter(({ number }) => !isGroup(Number(number)))
  t.strictSame(files, [], 'only groups that were never recorded are left, until they are old')
})

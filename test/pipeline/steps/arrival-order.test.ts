import t from 'tap'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { createLineByHand } from '../by-hand.js'

const { context: line, takeIn } = await createLineByHand(t)

const times = ['0:00', '0:15', '0:30', '0:45']
const rows = (meter: string, first: string) =>
  times.map((time, at) => `A,S,${meter},3/4/2026 ${time},${at === 0 ? first : '1'}`)

/** Publishes a read of 1, then corrections to 3 and to 4, which arrived in that order. */
async function correct(meter: string, order: readonly ('earlier' | 'later')[]) {
  await reconcile(line, await takeIn(`DEMO_05032026_Electric_${meter}.csv`, rows(meter, '1')))
  const arrivals = {
    earlier: await takeIn(`DEMO_06032026_Electric_${meter}.csv`, rows(meter, '3')),
    later: await takeIn(`DEMO_07032026_Electric_${meter}.csv`, rows(meter, '4')),
  }
  for (const which of order) await reconcile(line, arrivals[which])
  const [current] = await line.store.rows<{ quantity: string; arrival: string }>({
    sql: `SELECT toString(quantity) AS quantity, toUInt32(bitShiftRight(version, 32)) AS arrival
      FROM usage WHERE meter_id = {meter:String} AND starts_at = '2026-03-04 05:00:00'`,
    parameters: { meter },
  })
  const restated = await line.store.rows({
    sql: `SELECT toString(old_quantity) AS old, toString(new_quantity) AS new
      FROM usage_restatement WHERE meter_id = {meter:String} ORDER BY restated_at`,
    parameters: { meter },
  })
  const [earlier, later] = await Promise.all(
    [arrivals.earlier, arrivals.later].map((arrival) => line.ledger.state(arrival)),
  )
  t.same(current, { quantity: '4', arrival: arrivals.later }, 'the later arrival counts')
  return { earlier, later, restated }
}

t.test('of two corrections the later arrival wins where it is published last', async (t) => {
  const { earlier, later, restated } = await correct('1', ['earlier', 'later'])
  t.match(earlier, { status: 'published', rows: { accepted: 1, duplicate: 3, superseded: 0 } })
  t.match(later, { status: 'published', rows: { accepted: 1, duplicate: 3, superseded: 0 } })
  t.same(restated, [
    { old: '1', new: '3' },
    { old: '3', new: '4' },
  ])
})

t.test('of two corrections the later arrival wins where it is published first', async (t) => {
  const { earlier, later, restated } = await correct('2', ['later', 'earlier'])
  t.match(later, { status: 'published', rows: { accepted: 1, duplicate: 3, superseded: 0 } })
  t.match(earlier, { status: 'published', rows: { accepted: 0, duplicate: 3, superseded: 1 } })
  t.same(restated, [{ old: '1', new: '4' }], 'what comes too late replaces nothing')
})

t.test('a file that is sent again after a correction of its name counts again', async (t) => {
  const name = 'DEMO_08032026_Electric.csv'
  const [first, other] = [rows('3', '5'), rows('3', '7')]
  const send = async (sent: readonly string[]) => {
    const arrival = await takeIn(name, sent)
    await reconcile(line, arrival)
    const [current] = await line.store.rows<{ quantity: string }>({
      sql: `SELECT toString(quantity) AS quantity FROM usage
        WHERE meter_id = '3' AND starts_at = '2026-03-04 05:00:00'`,
    })
    const { status, duplicateOf, restated } = (await line.ledger.state(arrival)) ?? {}
    return { arrival, status, duplicateOf, restated: restated?.rows, read: current?.quantity }
  }
  const published = { status: 'published', duplicateOf: 0 }
  const original = await send(first)
  t.match(await send(other), { ...published, restated: 1, read: '7' })
  const again = await send(first)
  t.match(again, { ...published, restated: 1, read: '5' })
  const repeated = { status: 'duplicate', duplicateOf: again.arrival, read: '5' }
  t.match(await send(first), repeated, 'now it is the latest of its name')
  const correction = await send(other)
  t.match(correction, { ...published, restated: 1, read: '7' })

  const entry = { source: 'submit', name, path: '', bytes: 0, modifiedMs: 0, force: true }
  const repair = await line.ledger.claim({ ...entry, repairs: original.arrival })
  const state = (await line.ledger.state(original.arrival)) as FileState
  await line.ledger.record({ ...state, arrival: repair.arrival })
  t.match(await send(other), { status: 'duplicate', duplicateOf: correction.arrival })
  await line.ledger.claim(entry)
  t.match(await send(other), { status: 'published' }, 'while a file of the name is under way')
})

t.test('a repetition is judged in full where a correction was published meanwhile', async (t) => {
  const name = 'DEMO_09032026_Electric.csv'
  const original = await takeIn(name, rows('4', '5'))
  await reconcile(line, original)
  const corrected = await takeIn(name, rows('4', '7'))
  const repeated = await takeIn(name, rows('4', '5'))
  const stateOf = async () => await line.ledger.state(repeated)
  await line.ledger.record({ ...((await stateOf()) as FileState), duplicateOf: original })
  await reconcile(line, corrected)
  await reconcile(line, repeated)
  t.match(await stateOf(), { status: 'published', duplicateOf: 0, restated: { rows: 1 } })
})

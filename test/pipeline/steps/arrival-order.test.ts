import t from 'tap'
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

import t from 'tap'
import type { PipelineContext } from '../../../../pipeline/context.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { sample, someOf } from '../../../rig/sample.js'
import { aroundWrites } from '../../dying.js'
import { createDeliveries } from './deliveries.js'

const deliveries = await createDeliveries(t)
const { store, arrive, deliver, readsOf, readsOfEach } = deliveries
const isPush = true

const detroit = deliveries.contextOf('America/Detroit')
const rowOf = (meter: string, time: string, quantity: number) =>
  `A,S,${meter},11/2/2025 ${time},${quantity}`
const rowsOf = (meter: string, times: string, first = 1) =>
  times.split(' ').map((time, index) => rowOf(meter, time, first + index))

/** The sixteen timestamps of four hours of which the second is repeated. */
const quarters = ['00', '15', '30', '45']
const night = ['0', '1', '1', '2'].flatMap((hour) => quarters.map((minute) => `${hour}:${minute}`))
const wall = (index: number, minutes = 15) => {
  const at = 4 * 60 + index * minutes
  return `${String(Math.floor(at / 60)).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}`
}
const truth = night.map((_, index) => `${wall(index)} ${index + 1}`)

t.test('rows that are pushed one by one are each at their hour', async (t) => {
  /** The rows by themselves; in the short run those about 1:00. */
  const [first, last] = sample({ short: [5, 7], long: [0, night.length] })
  const rows = night.map((time, index) => rowOf('ONE', time, index + 1))
  const pushes = [
    rows.slice(0, first),
    ...rows.slice(first, last).map((row) => [row]),
    rows.slice(last),
  ]
  for (const push of pushes.filter(({ length }) => length > 0)) {
    const state = await deliver(detroit, push, { isPush })
    t.match(
      state,
      { status: 'published', rows: { accepted: push.length, rejected: 0 } },
      push.join(),
    )
    t.match(state.notes, { ambiguousHourRows: 0 }, push.join())
  }
  t.same(await readsOf('ONE'), truth)
})

t.test('a file is cut anywhere: both parts together are the night', async (t) => {
  const cuts = [...night.keys()].slice(1)
  const rows = (from: number, to: number) =>
    cuts.flatMap((cut) =>
      night
        .map((time, index) => rowOf(`CUT${cut}`, time, index + 1))
        .slice(from === 0 ? 0 : cut, to === 0 ? cut : undefined),
    )
  for (const part of [rows(0, 0), rows(1, 1)]) {
    const state = await deliver(detroit, part)
    t.match(state, { status: 'published', rows: { accepted: part.length, rejected: 0 } })
    t.match(state.notes, { ambiguousHourRows: 0 })
  }
  const reads = await readsOfEach(cuts.map((cut) => `CUT${cut}`))
  for (const cut of cuts) t.same(reads.get(`CUT${cut}`), truth, `cut at ${cut}`)
})

t.test('a correction of one hour replaces it if its neighbour is sent too', async (t) => {
  await deliver(detroit, rowsOf('FIX', night.join(' ')))
  const again = await deliver(detroit, rowsOf('FIX', '1:00 1:15 1:30 1:45', 101))
  t.match(again, { status: 'quarantined', rows: { accepted: 0, rejected: 4 } })
  t.match(again.notes, { ambiguousHourRows: 4, warnings: [/without proof.*4.*AMBIGUOUS_TIME/] })
  t.same(await readsOf('FIX'), truth, 'without a neighbour it replaces nothing')
  const rejects = await store.rows({
    sql: 'SELECT line, code, column_name FROM rejected_row WHERE arrival = {arrival:UInt32} ORDER BY line',
    parameters: { arrival: again.arrival },
  })
  const reject = { code: 'AMBIGUOUS_TIME', column_name: 'TimeStamp' }
  t.same(
    rejects,
    [2, 3, 4, 5].map((line) => ({ line, ...reject })),
  )
  const second = await deliver(detroit, rowsOf('FIX', '1:00 1:15 1:30 1:45 2:00', 201))
  t.match(second, { rows: { accepted: 5, rejected: 0 }, restated: { rows: 5 } })
  const first = await deliver(detroit, rowsOf('FIX', '0:45 1:00 1:15', 301))
  t.match(first, { rows: { accepted: 3, rejected: 0 }, restated: { rows: 3 } })
  const quantities = (await readsOf('FIX')).map((read) => Number(read.slice(6)))
  t.same(quantities.slice(3, 13), [301, 302, 303, 7, 8, 201, 202, 203, 204, 205])
})

t.test('rows that change nothing are duplicates, whatever hour they are of', async (t) => {
  await deliver(detroit, rowsOf('SAME', night.join(' ')))
  const state = await deliver(detroit, [rowOf('SAME', '1:15', 6), rowOf('SAME', '1:30', 11)])
  t.match(state, { status: 'published', rows: { duplicate: 2, rejected: 0 } })
  t.match(state.notes, { ambiguousHourRows: 2 })
})

t.test('a file with the newest read first is read in reverse', async (t) => {
  const state = await deliver(detroit, rowsOf('DOWN', night.join(' ')).toReversed())
  t.match(state, { rows: { accepted: 16 } })
  t.same(await readsOf('DOWN'), truth)
  const hours = ['3:00', '2:00', '1:00', '1:00', '0:00']
  await deliver(detroit, rowsOf('HOURS', hours.join(' ')))
  t.same(await readsOf('HOURS'), ['04:00 5', '05:00 4', '06:00 3', '07:00 2', '08:00 1'])
})

t.test(
  'one row for both hours is daylight time where nothing is stored, and counted',
  async (t) => {
    const first = await deliver(detroit, rowsOf('LONE', '0:00 1:00 2:00 3:00'))
    t.match(first, { status: 'published', rows: { accepted: 4 } })
    t.match(first.notes, { ambiguousHourRows: 1, repeatedHourRows: 1 })
    t.same(await readsOf('LONE'), ['04:00 1', '05:00 2', '07:00 3', '08:00 4'])
    const second = await deliver(detroit, rowsOf('LONE', '0:00 1:00 2:00 3:00', 11))
    t.match(second, { status: 'published', rows: { accepted: 3, rejected: 1 } })
    t.same(await readsOf('LONE'), ['04:00 11', '05:00 2', '07:00 13', '08:00 14'])
  },
)

t.test('ambiguous rows do not count towards the share of rejected rows', async (t) => {
  const meters = Array.from({ length: 30 }, (_, index) => `SHARE${index}`)
  await deliver(
    detroit,
    meters.flatMap((meter) => rowsOf(meter, night.join(' '))),
  )
  const rows = meters.map((meter) => rowOf(meter, '1:15', 99))
  const state = await deliver(detroit, [...rows, rowOf('SHARE0', '5:00', 1)])
  t.match(state, { status: 'published', rows: { accepted: 1, rejected: 30 } })
  const bad = await deliver(detroit, [...rows, 'A,S,SHARE0,11/2/2025 6:00,n/a'])
  t.match(bad, { status: 'quarantined', fault: 'TOO_MANY_REJECTED' })
})

t.test('a pushed row that came before the second hour ended is daylight time', async (t) => {
  const later = deliveries.arrivesAt
  const push = (rows: readonly string[]) => deliver(detroit, rows, { isPush })
  await deliver(detroit, rowsOf('LIVE', '0:00 0:15 0:30 0:45', 1))
  deliveries.arrivesAt = new Date('2025-11-02T05:16:00Z')
  await push(rowsOf('LIVE', '1:00', 5))
  const again = await push(rowsOf('LIVE', '1:00', 5))
  t.match(again, { rows: { duplicate: 1 } })
  deliveries.arrivesAt = new Date('2025-11-02T06:10:00Z')
  await push([...rowsOf('LIVE', '1:15 1:30 1:45 1:45', 6)])
  deliveries.arrivesAt = new Date('2025-11-02T06:16:30Z')
  await push(rowsOf('LIVE', '1:00', 20))
  deliveries.arrivesAt = later
  t.same(
    (await readsOf('LIVE')).slice(4),
    ['05:00 5', '05:15 6', '05:30 7', '05:45 9', '06:00 20'],
    'a row that was pushed twice adds nothing to the second hour',
  )
})

t.test('a row waits for earlier rows of its source that are not judged yet', async (t) => {
  await deliver(detroit, rowsOf('WAIT', '0:00 0:15 0:30 0:45'))
  const first = await arrive(detroit, rowsOf('WAIT', '1:00', 5), { isPush })
  const second = await arrive(detroit, rowsOf('WAIT', '1:15', 6), { isPush })
  const detail = `arrival ${second} waits for arrival ${first}`
  await t.rejects(reconcile(detroit, second), { code: 'FILE_AHEAD', detail })
  await reconcile(detroit, first)
  await reconcile(detroit, second)
  t.same((await readsOf('WAIT')).slice(4), ['05:00 5', '05:15 6'])
})

t.test('the length of a meter is known before its neighbours are asked for', async (t) => {
  await deliver(detroit, rowsOf('LONG', night.join(' ')))
  const hourly = await deliver(detroit, rowsOf('LONG', '0:00 1:00', 50))
  t.match(hourly, { rows: { accepted: 1, rejected: 1 } }, 'the read before 1:00 is at 0:45')
  const days = Array.from({ length: 24 }, (_, hour) => `A,S,HOURLY,11/1/2025 ${hour}:00,1`)
  await deliver(detroit, days)
  for (const [index, time] of ['0:00', '1:00', '1:00', '2:00'].entries()) {
    await deliver(detroit, rowsOf('HOURLY', time, index + 10), { isPush })
  }
  const [found] = await store.rows({
    sql: `SELECT groupArray((toString(starts_at), toString(quantity), seconds)) AS reads FROM (
      SELECT * FROM usage WHERE meter_id = 'HOURLY' AND local_day = '2025-11-02' ORDER BY starts_at)`,
  })
  t.same(found, {
    reads: ['04', '05', '06', '07'].map((hour, index) => [
      `2025-11-02 ${hour}:00:00`,
      String(index + 10),
      3_600,
    ]),
  })
})

/** The line of which the worker dies behind a statement or an insert. */
function dying(behind: string): PipelineContext {
  const mortal = aroundWrites(store, async (write, text) => {
    const result = await write()
    if (text.includes(behind)) throw new Error('the worker died')
    return result
  })
  return { ...detroit, store: mortal }
}

t.test('a step that dies and runs again ends the same', async (t) => {
  await deliver(detroit, rowsOf('DIES', night.join(' ')))
  const deaths = ['_choice', 'AS again', 'reject'].entries()
  for (const [index, behind] of someOf([...deaths])) {
    const arrival = await arrive(detroit, [
      rowOf('DIES', '1:15', 60 + index),
      ...rowsOf(`NEW${index}`, '1:30 1:45 2:00', 10),
      `A,S,NEW${index},11/2/2025 5:00,n/a`,
    ])
    await t.rejects(reconcile(dying(behind), arrival), /the worker died/)
    await reconcile(detroit, arrival)
    const state = await detroit.ledger.state(arrival)
    t.match(state, { status: 'published', rows: { accepted: 3, rejected: 2 } }, behind)
    t.match(state?.notes, { ambiguousHourRows: 1 })
    t.same(await readsOf(`NEW${index}`), ['06:30 10', '06:45 11', '07:00 12'])
  }
  t.same(await readsOf('DIES'), truth)
})

t.test('rows of many meters in any order are judged alike with and without the rule', async (t) => {
  const meters = Array.from({ length: 60 }, (_, index) => index)
  const random = (index: number, at: number) =>
    (Math.imul(index * 31 + at, 2_654_435_761) >>> 8) % 100
  const rowsFor = (mark: string) =>
    meters.flatMap((index) => {
      const rows = night.flatMap((time, at) => {
        const chance = random(index, at)
        const row = rowOf(`${mark}${index}`, time, at + 1)
        if (chance < index % 12) return []
        return chance > 97 ? [row, row] : [row]
      })
      return index % 3 === 0 ? rows.reverse() : rows
    })
  const [file, push] = [
    await deliver(detroit, rowsFor('F')),
    await deliver(detroit, rowsFor('P'), { isPush }),
  ]
  t.same(push.rows, file.rows)
  t.same(push.notes.ambiguousHourRows, file.notes.ambiguousHourRows)
  t.ok((file.notes.ambiguousHourRows ?? 0) > 0)
  const reads = await readsOfEach(meters.flatMap((index) => [`P${index}`, `F${index}`]))
  for (const index of meters) {
    const pushed = reads.get(`P${index}`)
    t.not(pushed?.length, 0)
    t.same(pushed, reads.get(`F${index}`))
  }
})

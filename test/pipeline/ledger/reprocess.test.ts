import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { createSubmitSource } from '../../../pipeline/sources/folder.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { orderReprocess, reprocess } from '../../../pipeline/steps/reprocess.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { keptName } from '../../../schemas/file-name.js'
import { createLineByHand } from '../by-hand.js'
import { sampleState } from './sample-state.js'

const { context, arrive } = await createLineByHand(t)
const { ledger, store } = context
const folders = { ...context.folders, quarantine: join(context.folders.landing, 'quarantine') }
mkdirSync(folders.quarantine)

/** A quarantined file that is ordered again; returns its arrival. */
async function ordered(name: string): Promise<number> {
  const entry = { source: 'inbox', name, path: `/inbox/${name}`, bytes: 1, modifiedMs: 1 }
  const { arrival } = await ledger.claim({ ...entry, wholeBy: '', force: false })
  writeFileSync(join(folders.quarantine, keptName(arrival, name)), 'x')
  const state = { ...sampleState, arrival, fileName: name, status: 'quarantined' } as const
  await ledger.record({ ...state, settledAt: new Date() })
  const order = { arrival, act: 'retry' } as const
  await orderReprocess({ ...context, folders }, { who: 'ann', via: 'command' }, order)
  return arrival
}

t.test('kept bytes are not taken in behind a newer file that is claimed meanwhile', async (t) => {
  const name = 'DEMO_05032024_Gas.csv'
  const arrival = await ordered(name)
  let newer = 0
  const insert: Store['insert'] = async (table, ...rest) => {
    if (table === 'arrival' && newer === 0) {
      newer = 1
      const entry = { source: 'inbox', name, path: `/inbox/${name}`, bytes: 2, modifiedMs: 2 }
      newer = (await ledger.claim({ ...entry, wholeBy: '', force: false })).arrival
    }
    return store.insert(table, ...rest)
  }
  const own = { ...store, insert }
  const busy: PipelineContext = {
    ...{ ...context, folders },
    ...{ store: own, ledger: createLedger(own, context.now) },
  }
  await reprocess(busy, arrival)
  t.ok(newer > arrival)
  t.equal(await ledger.claimedAs(`reprocess-${arrival}`), undefined)
})

t.test('they are without one', async (t) => {
  const arrival = await ordered('DEMO_06032024_Gas.csv')
  await reprocess({ ...context, folders }, arrival)
  t.ok(((await ledger.claimedAs(`reprocess-${arrival}`))?.arrival ?? 0) > arrival)
})

t.test('a file whose kept bytes are gone before they are read is quarantined', async (t) => {
  const name = 'DEMO_07032024_Gas.csv'
  const arrival = await ordered(name)
  await reprocess({ ...context, folders }, arrival)
  rmSync(join(folders.quarantine, keptName(arrival, name)))
  const again = (await ledger.claimedAs(`reprocess-${arrival}`))?.arrival ?? 0
  const read = createSubmitSource()
  await receive({ ...context, folders, sources: new Map([['quarantine', read]]) }, again)
  t.match(await ledger.state(again), { status: 'received', fault: 'SOURCE_CHANGED' })
})

t.test('only the bytes that were judged are accepted; a retry takes others', async (t) => {
  for (const [act, fault] of [
    ['accept', 'FILE_STATE'],
    ['retry', ''],
  ] as const) {
    const name = `DEMO_${act === 'accept' ? '09' : '10'}032024_Electric.csv`
    const { arrival, path } = await arrive(name, ['A,S,M,3/1/2024 0:00,x'])
    const judged = { ...sampleState, arrival, fileName: name, path, source: 'submit' }
    const refused = { status: 'quarantined', fault: 'TOO_MANY_REJECTED', feed: 'Electric' } as const
    await ledger.record({ ...judged, ...refused, settledAt: new Date() })
    await orderReprocess(context, { who: 'ann', via: 'command' }, { arrival, act })
    appendFileSync(path, 'A,S,M,3/1/2024 0:15,1\n')
    await reprocess(context, arrival)
    const again = (await ledger.claimedAs(`reprocess-${arrival}`))?.arrival ?? 0
    await receive(context, again)
    t.match(await ledger.state(again), { status: 'received', fault })
  }
})

t.test('a file may be reprocessed after an earlier one of its name was repaired', async (t) => {
  const name = 'DEMO_08032024_Gas.csv'
  const entry = { source: 'inbox', name, path: `/inbox/${name}`, bytes: 1, modifiedMs: 1 }
  const first = await ledger.claim({ ...entry, wholeBy: '', force: false })
  const published = { ...sampleState, fileName: name, status: 'published' } as const
  await ledger.record({ ...published, arrival: first.arrival })
  const arrival = await ordered(name)
  const repair = { ...entry, wholeBy: '' as const, force: true, repairs: first.arrival }
  const { arrival: repaired } = await ledger.claim(repair)
  await ledger.record({ ...published, arrival: repaired })
  await reprocess({ ...context, folders }, arrival)
  t.ok(((await ledger.claimedAs(`reprocess-${arrival}`))?.arrival ?? 0) > repaired)
})

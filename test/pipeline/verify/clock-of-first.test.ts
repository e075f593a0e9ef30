import { copyFileSync } from 'node:fs'
import t from 'tap'
import { pushSource } from '../../../pipeline/intake/arrive.js'
import { createSubmitSource } from '../../../pipeline/sources/folder.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { keptPath } from '../../../pipeline/verify/archive.js'
import { createLineByHand } from '../by-hand.js'
import { createRepairing } from '../usage/lengths/repairing.js'

const clock = { now: new Date() }
const line = await createLineByHand(t, { now: () => clock.now })
const sources = new Map([...line.context.sources, [pushSource, createSubmitSource()]])
const context = { ...line.context, sources }
const { arrive } = line
const { store, folders, ledger } = context
const { keep, lose, repairAll } = createRepairing({ ...line, context })

const all = async () => {
  const rows = await store.rows({ sql: 'SELECT * FROM usage_current ORDER BY ALL' })
  return rows.map((row) => JSON.stringify(row))
}
const hours = (meter: string, day: string, from = 0, to = 24) =>
  Array.from({ length: to - from }, (_, at) => `A,S-${meter},${meter},${day} ${from + at}:00,${at}`)

t.test('a row that was in the future when it arrived is rejected again', async (t) => {
  clock.now = new Date('2026-11-06T12:00:00Z')
  const rows = ['11/2/2026', '11/3/2026', '11/4/2026'].flatMap((day) => hours('M1', day))
  const arrival = await keep('DEMO_06112026_Electric.csv', [
    ...rows,
    ...hours('M1', '11/9/2026', 1, 2),
  ])
  t.match((await context.ledger.state(arrival))?.rows, { read: 73, rejected: 1 })
  const before = await all()
  clock.now = new Date('2026-11-26T12:00:00Z')
  await lose('1')
  t.equal(await repairAll(t), 1)
  t.same(await all(), before)
})

t.test('the hour of reads is chosen by what came before them', async (t) => {
  const quarters = (meter: string, ...times: readonly string[]) =>
    times.map((time) => `A,S-${meter},${meter},11/1/2026 ${time},1`)
  const first = ['1:00', '1:15', '1:30']
  const files: readonly [string, readonly string[]][] = [
    ['2026-11-01T05:01:00Z', quarters('M2', '0:00', '0:15', '0:30', '0:45')],
    ['2026-11-01T05:47:00Z', quarters('M2', ...first)],
    ['2026-11-01T07:50:00Z', quarters('M2', ...first, '1:45', '2:00', '2:15', '2:30')],
    ['2026-11-02T07:50:00Z', ['0:30', '0:45'].map((time) => `A,S-M2,M2,11/1/2026 ${time},7`)],
  ]
  const arrivals: number[] = []
  for (const [at, rows] of files) {
    clock.now = new Date(at)
    arrivals.push(await keep(`DEMO_0${arrivals.length + 1}112026_Electric.csv`, rows))
  }
  const before = await all()
  await lose(`bitShiftRight(version, 32) = ${arrivals[1]}`)
  t.equal(await repairAll(t), 1)
  t.same(await all(), before)
})

t.test('pushed reads were here before the second hour ended', async (t) => {
  clock.now = new Date('2026-11-01T05:47:00Z')
  const fileName = 'DEMO_07112026_Electric.csv'
  const rows = ['1:00', '1:15', '1:30'].map((time) => `A,S-M3,M3,11/1/2026 ${time},1`)
  const { arrival: submittedAs, path } = await arrive(fileName, rows)
  const entry = await ledger.arrival(submittedAs)
  if (entry === undefined) throw new Error('no arrival')
  const { arrival } = await ledger.claim({ ...entry, source: pushSource })
  await receive(context, arrival)
  await reconcile(context, arrival)
  copyFileSync(path, keptPath(folders.archive, { arrival, fileName }))
  const before = await all()
  clock.now = new Date('2026-11-26T12:00:00Z')
  await lose(`bitShiftRight(version, 32) = ${arrival}`)
  t.equal(await repairAll(t), 1)
  t.same(await all(), before)
})

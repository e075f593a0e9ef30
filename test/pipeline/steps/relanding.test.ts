import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chunkName, landedFolder } from '../../../pipeline/files/landing.js'
import type { LoadTask } from '../../../pipeline/kind.js'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { createLineByHand } from '../by-hand.js'

const rows = Array.from({ length: 40_000 }, (_, index) => {
  const quarter = index % 96
  const time = `${Math.floor(quarter / 4)}:${String((quarter % 4) * 15).padStart(2, '0')}`
  return `A1,S1,M${Math.floor(index / 96)},3/4/2026 ${time},0.5`
})
const name = 'DEMO_05032026_Electric.csv'
const limits = { chunkBytes: 200_000 }

t.test('a loaded chunk leaves the landing; a spoilt one is landed again', async (t) => {
  const { context: line, loads, arrive } = await createLineByHand(t, { limits })
  const { arrival } = await arrive(name, rows)
  await receive(line, arrival)
  t.ok(loads.length > 5, `${loads.length} chunks`)
  const landed = landedFolder(line.folders.landing, arrival)
  const [first, second, third] = loads as [LoadTask, LoadTask, LoadTask]
  await load(line, first)
  t.notOk(readdirSync(landed).includes(chunkName(first.chunk.chunk)))
  rmSync(join(landed, chunkName(second.chunk.chunk)))
  truncateSync(join(landed, chunkName(third.chunk.chunk)), 1_000)
  for (const task of [first, second, third]) await load(line, task)
  t.equal((await line.ledger.receipts(arrival)).length, 1, 'what is not there is left')

  await reconcile(line, arrival)
  const state = await line.ledger.state(arrival)
  t.match(state, { status: 'published', rows: { read: 40_000, accepted: 40_000 } })
  const [stored] = await line.store.rows<{ rows: string; energy: string }>({
    sql: 'SELECT count() AS rows, toString(sum(quantity)) AS energy FROM usage',
  })
  t.same(stored, { rows: '40000', energy: '20000' })
})

t.test('a chunk that was altered is landed again, although count and sum agree', async (t) => {
  const { context: line, loads, arrive } = await createLineByHand(t, { limits })
  const { arrival } = await arrive(name, rows)
  await receive(line, arrival)
  const [first] = loads as [LoadTask]
  const path = join(landedFolder(line.folders.landing, arrival), chunkName(first.chunk.chunk))
  const before = readFileSync(path, 'utf8')
  writeFileSync(path, before.replace('A1,S1,M0,', 'A1,S1,M9,'))
  for (const task of loads) await load(line, task)
  await reconcile(line, arrival)
  t.match(await line.ledger.state(arrival), { status: 'published', rows: { accepted: 40_000 } })
  const [stored] = await line.store.rows<{ meters: string }>({
    sql: "SELECT toString(count()) AS meters FROM usage WHERE meter_id = 'M0'",
  })
  t.same(stored, { meters: '96' })
})

t.test('a load whose chunk another one takes away meanwhile has not failed', async (t) => {
  const { context: line, loads, arrive } = await createLineByHand(t, { limits })
  const { arrival } = await arrive(name, rows)
  await receive(line, arrival)
  const [first] = loads as [LoadTask]
  const path = join(landedFolder(line.folders.landing, arrival), chunkName(first.chunk.chunk))
  const command: typeof line.store.command = async (statement, body) => {
    rmSync(path, { force: true })
    return line.store.command(statement, body)
  }
  await load({ ...line, store: { ...line.store, command } }, first)
  t.same(await line.ledger.receipts(arrival), [], 'it says nothing of what it did not see')
  await reconcile(line, arrival)
  t.match(await line.ledger.state(arrival), { status: 'published', rows: { accepted: 40_000 } })
})

t.test('a file that cannot be landed again is refused, not half loaded', async (t) => {
  const { context: line, loads, arrive } = await createLineByHand(t, { limits })
  const { arrival, path } = await arrive(name, rows)
  await receive(line, arrival)
  const landed = landedFolder(line.folders.landing, arrival)
  rmSync(join(landed, chunkName((loads[1] as LoadTask).chunk.chunk)))
  rmSync(path)
  await reconcile(line, arrival)
  const state = await line.ledger.state(arrival)
  t.match(state, { status: 'quarantined', fault: 'SOURCE_CHANGED', reason: /send it again/ })
  t.same(await line.store.rows({ sql: 'SELECT 1 FROM usage LIMIT 1' }), [])
})

t.test('a file for whose rows the disk has no room gives back what it took', async (t) => {
  const { context: line, arrive } = await createLineByHand(t, { limits })
  const { arrival } = await arrive(name, rows)
  let looks = 0
  const filling = {
    ...line.profile.limits,
    get freeDiskBytesMin() {
      return looks++ === 0 ? 0 : Number.MAX_SAFE_INTEGER
    },
  }
  const full = { ...line, profile: { ...line.profile, limits: filling } }
  await t.rejects(receive(full, arrival), { code: 'DISK_FULL', detail: /DEMO_05032026_Electric/ })
  t.same(readdirSync(line.folders.landing), [])
  await receive(line, arrival)
  await reconcile(line, arrival)
  t.match(await line.ledger.state(arrival), { status: 'published', rows: { accepted: 40_000 } })
})

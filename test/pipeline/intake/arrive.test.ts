import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createArrive, pushSource } from '../../../pipeline/intake/arrive.js'
import { type Arrival, createLedger } from '../../../pipeline/ledger/ledger.js'
import { blankState } from '../../../pipeline/steps/receive.js'
import { createFolder } from '../../rig/folder.js'
import { migratedStore } from '../customers/registering.js'

const store = await migratedStore(t)
const folder = createFolder(t)
const ledger = createLedger(store, () => new Date())
const queued: number[] = []
/** What several gateways have, each of its own. */
const createOne = () =>
  createArrive(ledger, ({ arrival }) => {
    queued.push(arrival)
  })

function place(name: string) {
  const path = join(folder, name)
  writeFileSync(path, name)
  return { name, path }
}

t.test('a file that several gateways claim at once is one arrival, queued once', async (t) => {
  const gateways = [createOne(), createOne(), createOne()]
  for (let at = 0; at < 10; at++) {
    const pushed = place(`DEMO_04032024_Electric_${at}.csv`)
    const [first] = new Set(
      await Promise.all(gateways.map(({ claim }) => claim(pushSource, pushed))),
    )
    const sent = place(`DEMO_05032024_Electric_${at}.csv`)
    const never = async () => false
    const [second] = new Set(
      await Promise.all(gateways.map(({ claimUnless }) => claimUnless(sent, never))),
    )
    t.same(await ledger.latest({ path: pushed.path }), await ledger.arrival(Number(first)))
    t.same(await ledger.latest({ path: sent.path }), await ledger.arrival(Number(second)))
  }
  const [row] = await store.rows<{ arrivals: string }>({
    sql: 'SELECT toString(count()) AS arrivals FROM arrival',
  })
  t.equal(row?.arrivals, '20')
  t.equal(queued.length, 20)
})

t.test('a pushed file with the name of one that was loaded is a file of its own', async (t) => {
  const { claim } = createOne()
  const pushed = place('DEMO_07032024_Electric_1.csv')
  const first = await claim(pushSource, pushed)
  const arrival = (await ledger.arrival(Number(first))) as Arrival
  const state = { ...blankState({ now: () => new Date() }, arrival), feed: 'Electric' }
  await ledger.record({ ...state, status: 'published', settledAt: new Date() })
  t.equal(await claim(pushSource, pushed), first, 'the same file is not put away yet')
  rmSync(pushed.path)
  t.equal(await claim(pushSource, pushed), undefined, 'it has gone since the folder was listed')
  // The clock was set back, and a file was begun in the same millisecond of the day.
  writeFileSync(pushed.path, 'other rows')
  const second = await claim(pushSource, pushed)
  t.ok(Number(second) > Number(first), `${second}`)
  t.equal(await claim(pushSource, pushed), second)
})

t.test('a file whose name is another sender’s by then is not claimed', async (t) => {
  const claimed = await createOne().claimUnless(place('DEMO_06032024_Gas.csv'), async () => true)
  t.equal(claimed, undefined)
})

t.test('a file that another process claims meanwhile is not another’s', async (t) => {
  const file = place('DEMO_09032024_Gas.csv')
  const other = createArrive(
    createLedger({ ...store }, () => new Date()),
    () => undefined,
  )
  let first: number | undefined
  const claimed = await createOne().claimUnless(file, async () => {
    first = await other.claimUnless(file, async () => false)
    return (await ledger.latest({ name: file.name })) !== undefined
  })
  t.type(first, 'number')
  t.equal(claimed, first, 'it has its number')
})

t.test('an upload that was loaded arrives again after a correction of its name', async (t) => {
  const { claimUnless, find } = createOne()
  const name = 'DEMO_08032024_Electric.csv'
  const claim = (path: string) => {
    writeFileSync(path, path)
    return claimUnless({ name, path }, async () => false)
  }
  const load = async (path: string) => {
    const claimed = await claim(path)
    const arrival = (await ledger.arrival(Number(claimed))) as Arrival
    const state = { ...blankState({ now: () => new Date() }, arrival), fileId: path }
    await ledger.record({ ...state, status: 'published', settledAt: new Date() })
    return claimed
  }
  const [original, corrected] = [join(folder, 'original'), join(folder, 'corrected')]
  const first = await load(original)
  t.equal(await find(original), first)
  const second = await load(corrected)
  t.equal(await find(corrected), second)
  t.equal(await find(original), undefined)
  const third = await load(original)
  t.ok(Number(third) > Number(second), `${third}`)
  t.equal(await find(original), third)
  await claim(join(folder, 'under way'))
  t.equal(await find(original), undefined)
})

t.test('the original of a correction waits until its own load has ended', async (t) => {
  const { claimUnless, find } = createOne()
  const name = 'DEMO_10032024_Electric.csv'
  const claim = async (title: string) => {
    const path = join(folder, title)
    writeFileSync(path, title)
    return Number(await claimUnless({ name, path }, async () => false))
  }
  const state = async (number: number) => {
    const arrival = (await ledger.arrival(number)) as Arrival
    return { ...blankState({ now: () => new Date() }, arrival), fileId: arrival.path }
  }
  const original = join(folder, 'first text')
  const first = await claim('first text')
  await ledger.record({ ...(await state(await claim('refused'))), status: 'quarantined' })
  t.equal(await find(original), first, 'what came after it does not count')
  const second = await claim('second text')
  await t.rejects(find(original), { code: 'FILE_AHEAD', detail: /arrival \d+ .*send it again/ })
  t.equal(await find(join(folder, 'second text')), second)
  await ledger.record({ ...(await state(first)), status: 'published', settledAt: new Date() })
  t.equal(await find(original), undefined, 'now it arrives once more')
})

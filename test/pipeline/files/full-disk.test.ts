import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { bill } from '../../../pipeline/bills/run.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import { gather } from '../../../pipeline/groups/gather.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { passingFault } from '../../../pipeline/queues/wait.js'
import { createFolder as createSource } from '../../../pipeline/sources/folder.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { load } from '../../../pipeline/steps/load.js'
import { createStability, poll } from '../../../pipeline/steps/poll.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { retain, retainMachine } from '../../../pipeline/steps/retain.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { sweep } from '../../../pipeline/steps/sweep.js'
import { buildAllDays } from '../../../pipeline/usage/days/build.js'
import { verifyAndReport } from '../../../pipeline/verify/verify.js'
import { sourceSettings } from '../../../schemas/settings/source.js'
import { sample } from '../../rig/sample.js'
import { createSmallDisk } from '../../rig/small-disk.js'
import { billRig, steady } from '../bills/rig.js'
import { createLineOn } from '../by-hand.js'
import { customerAt, migratedStore } from '../customers/registering.js'
import { aroundWrites } from '../dying.js'
import { createErasing } from '../erase/erasing.js'
import { rememberJobs, runAll } from '../groups/rig.js'

const disk = createSmallDisk(t, 192)
const store = await migratedStore(t, join(disk.path, 'clickhouse'))
const folder = join(disk.path, 'line')
mkdirSync(folder)
const line = createLineOn(store, folder)
const { context } = line
const { folders, profile } = context
const settings = sourceSettings.parse({ kind: 'folder', name: 'inbox', path: folders.inbox })
if (settings.kind !== 'folder') throw new Error('not a folder')
const inbox = createSource({ ...folders, settings, naming: profile })
Object.assign(context, {
  profile: { ...profile, sources: [settings] },
  sources: new Map([...context.sources, ['inbox', inbox]]),
})
const queued = rememberJobs(line)

/** At which write of a job the disk is full; 0 is before it begins. */
const moments = sample({ short: [0, 2], long: Array.from({ length: 16 }, (_, at) => at) })
let tried = 0
let held = 0

/**
 * Runs a job on a disk that is full to the last byte from one of its writes on, and again with space, as
 * the queue does. Nothing but a passing fault may end the first run.
 */
async function underFullDisk(
  t: Test,
  { at, name }: { readonly at: number; readonly name: string },
  job: (context: PipelineContext) => Promise<unknown>,
): Promise<void> {
  let writes = 0
  const narrow = aroundWrites(store, (write) => {
    if (++writes === at) disk.fill()
    return write()
  })
  if (at === 0) disk.fill()
  tried++
  try {
    await job({ ...context, store: narrow, ledger: createLedger(narrow, context.now) })
  } catch (error) {
    held++
    const code = passingFault(error)?.code
    t.ok(code, `${name}, full at write ${at}: waits, ${code ?? String(error)}`)
  } finally {
    disk.free()
  }
  await job(context)
}

const hours = Array.from({ length: 24 }, (_, hour) => hour)
const rowsOf = (meter: string) =>
  hours.map((hour) => `A,S,${meter},2/1/2026 ${hour}:00,${hour === 5 ? 'x' : '1.5'}`)

/** What the files of some meters have left, without their numbers and times. */
async function readEnds(like: string) {
  const parameters = { like }
  const rows = (sql: string) => store.rows({ sql, parameters })
  return {
    states: await rows(`SELECT status, rows_read, rows_accepted, rows_rejected, quantity_accepted,
      settled_at IS NOT NULL AS is_settled FROM file_state FINAL
      WHERE file_name LIKE {like:String} ORDER BY file_name`),
    reads:
      await rows(`SELECT count() AS rows, uniqExact(version) AS versions, sum(quantity) AS quantity
      FROM usage_read WHERE meter_id LIKE {like:String}`),
    rejects: await rows(`SELECT line, code, count() AS rows FROM reject FINAL
      WHERE arrival IN (SELECT arrival FROM file_state FINAL WHERE file_name LIKE {like:String})
      GROUP BY ALL ORDER BY ALL`),
    numbers: await rows(`SELECT count() AS files FROM publication
      WHERE arrival IN (SELECT arrival FROM file_state FINAL WHERE file_name LIKE {like:String})`),
    days: await rows(`SELECT sum(quantity) AS quantity, sum(intervals_present) AS intervals
      FROM usage_day WHERE meter_id LIKE {like:String}`),
    receipts: readdirSync(folders.outbox).filter((name) => name.includes(like.slice(1, -1))).length,
  }
}

type Around = (
  name: string,
  job: (context: PipelineContext) => Promise<unknown>,
) => Promise<unknown>

/** Takes a file from its source to its days, and three small ones as a group. */
async function takeThrough(mark: string, around: Around): Promise<void> {
  const name = `DEMO_02022026_Electric_${mark}1.csv`
  const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
  const path = join(folders.inbox, name)
  writeFileSync(path, `${header}\n${rowsOf(`${mark}1`).join('\n')}\n`)
  writeFileSync(`${path}.done`, '')
  await around('poll', (context) => poll(context, 'inbox', createStability()))
  queued.length = 0
  const [own] = await store.rows<{ arrival: number }>({
    sql: 'SELECT arrival FROM arrival WHERE name = {name:String}',
    parameters: { name },
  })
  const arrival = Number(own?.arrival)
  await around('receive', (context) => receive(context, arrival))
  const loads = line.loads.splice(0).filter((one) => one.arrival === arrival)
  const chunks = new Map(loads.map((one) => [one.chunk, one]))
  for (const task of chunks.values()) await around('load', (context) => load(context, task))
  await around('reconcile', (context) => reconcile(context, arrival))
  await around('settle', (context) => settle(context, arrival))
  const arrivals: number[] = []
  for (const part of ['2', '3', '4']) {
    const file = `DEMO_02022026_Electric_${mark}${part}.csv`
    arrivals.push((await line.arrive(file, rowsOf(`${mark}${part}`))).arrival)
  }
  await around('gather', (context) => gather(context, arrivals))
  for (const task of line.loads.splice(0)) {
    await around('load of a group', (context) => load(context, task))
  }
  for (let job = queued.shift(); job !== undefined; job = queued.shift()) {
    const { name, arrival } = job
    if (name === 'reconcile')
      await around(`${name} of a group`, (context) => reconcile(context, arrival))
    if (name === 'settle') await around(`${name} of a group`, (context) => settle(context, arrival))
  }
  await around('sweep', (context) => sweep(context))
  await runAll(line, queued)
  await around('days', (context) => buildAllDays(context))
  await around('retain', async (context) => {
    await retain(context, { night: true })
    await retainMachine(context)
  })
  await around('verify', (context) => verifyAndReport(context, { files: true, days: true }))
}

t.test('each job of the line waits for space, and then leaves what it always leaves', async (t) => {
  await takeThrough('999', async (_, job) => job(context))
  const expected = await readEnds('%999%')
  t.match(expected, { states: [1, 2, 3, 4].map(() => ({ status: 'published', is_settled: 1 })) })
  for (const at of moments) {
    await takeThrough(String(100 + at), (name, job) => underFullDisk(t, { at, name }, job))
    t.strictSame(await readEnds(`%${100 + at}%`), expected, `full at write ${at} of each job`)
  }
})

t.test('erasures wait for space', async (t) => {
  const erasing = createErasing(line)
  for (const at of moments) {
    const account = `E${at}`
    const meter = { accountNumber: account, meterId: `ME${at}` }
    await erasing.known({ clientId: account, ...meter })
    await erasing.load(`DEMO_01062024_${account}`, { ...meter, startsAt: '2024-06-01T05:00:00Z' })
    await erasing.terminate({ account_number: account })
    await underFullDisk(t, { at, name: 'erase' }, (context) => eraseDue(context))
    const left = 'SELECT 1 FROM usage_read WHERE account_number = {account:String}'
    t.same(await store.rows({ sql: left, parameters: { account } }), [])
  }
})

t.test('bills wait for space', async (t) => {
  const bills = await billRig(t, store)
  await bills.publish({
    RateCodes: ['FLAT,Flat,Flat,,'],
    RateFlat: ['FLAT,0.1,2025-01-01,,'],
    BillingCycles: ['7,2026-01-01,2026-01-31'],
  })
  await bills.register(
    customerAt({ clientId: 'c', accountNumber: 'Aflat', meterId: 'flat', rateCode: 'FLAT' }),
  )
  const from = '2026-01-01T05:00:00Z'
  await bills.read({ meter: 'flat', from, quantities: steady('0.25', 2_976) })
  for (const at of moments) {
    await underFullDisk(t, { at, name: 'bill' }, (context) =>
      bill({ ...bills.context(), store: context.store }, { cycleId: '7' }),
    )
    const sql = 'SELECT count() AS bills, toString(sum(total)) AS total FROM projected_bill'
    t.strictSame(await store.rows({ sql }), [{ bills: '1', total: '74.4' }])
  }
  t.comment(`${tried} jobs on a full disk, ${held} of them waited`)
  t.ok(held > tried / 2, `${held} of ${tried} jobs waited`)
})

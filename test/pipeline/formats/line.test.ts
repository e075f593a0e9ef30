import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import { check, toEntries } from '../../../pipeline/check.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import { landedFolder } from '../../../pipeline/files/landing.js'
import { gather } from '../../../pipeline/groups/gather.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { arrivalPaths } from '../../../pipeline/ledger/outbox.js'
import { toReceipt } from '../../../pipeline/ledger/receipt.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { sql } from '../../../pipeline/store/sql.js'
import { keptPath } from '../../../pipeline/verify/archive.js'
import { orderRepair } from '../../../pipeline/verify/repair.js'
import { verify } from '../../../pipeline/verify/verify.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createLineByHand, type LineByHand } from '../by-hand.js'
import { rememberJobs, runAll } from '../groups/rig.js'
import { profileWith } from './convert.js'

const golden = join(packageRoot(import.meta.url), 'test/golden/formats')
const byHand = await createLineByHand(t)
const profile = profileWith({ format: { name: 'nem12' } })
const zone = createZone(profile.timeZone)
const context: PipelineContext = { ...byHand.context, profile, zone }
const line: LineByHand = { ...byHand, context }
const { store, folders } = context

const sample = readFileSync(join(golden, 'nem12.csv'), 'utf8')
/** The sample with other meters, and with errors in two of its records. */
const ofMeter = (meter: string) => sample.replaceAll('410200', meter)
const spoiled = (text: string) =>
  text.replace(',0.225,', ',0.2.5,').replace('300,20260302,.06,', '300,20260302,')

let files = 0
async function arrive(text: string) {
  const [header = '', ...rows] = text.trimEnd().split('\n')
  return line.arrive(`DEMO_03032026_Electric_${++files}.csv`, rows, header)
}

async function complete(arrival: number): Promise<FileState> {
  await receive(context, arrival)
  await reconcile(context, arrival)
  await settle(context, arrival)
  return (await context.ledger.state(arrival)) as FileState
}

const readsOf = (meter: string) =>
  store.rows<object>({
    sql: sql`SELECT meter_id, starts_at, seconds, toString(quantity) AS quantity FROM usage_read FINAL
      WHERE startsWith(meter_id, ${meter}) ORDER BY meter_id, starts_at`,
  })

t.test('check and load agree, and name the lines and texts of the sender', async (t) => {
  const { arrival, path } = await arrive(spoiled(ofMeter('510200')))
  const [checked] = await check(await toEntries([path]), {
    ...{ profile, store, folders, log: context.log },
  })
  const state = await complete(arrival)
  const { fileName, rows, quantity, notes, firstIntervalStart, lastIntervalEnd } = toReceipt(state)
  t.match(checked?.receipt, {
    fileName,
    rows,
    quantity,
    notes,
    firstIntervalStart,
    lastIntervalEnd,
  })
  t.match(rows, { read: 48 + 46 + 48 + 288 + 1, accepted: 429, rejected: 2 })
  // 44.675 - 15 + 5.76, less the value that cannot be read.
  t.equal(quantity?.accepted, '35.21')
  t.equal(quantity?.rejected, '5.7', 'what can be read of it')
  t.match(checked?.badRows, [
    { line: 3, column: 'TotalUnit', code: 'NOT_A_NUMBER', row: /^300,20260301,0\.100,0\.2\.5,/ },
    { line: 17, column: '', code: 'INTERVAL_COUNT', detail: /need 96 values, found 95/ },
  ])
  const rejects = readFileSync(arrivalPaths(folders.outbox, state).rejects, 'utf8').split('\n')
  t.match(rejects[1], /^3,"TotalUnit","NOT_A_NUMBER",.*"300,20260301,0\.100,0\.2\.5,/)
  t.match(rejects[2], /^17,"","INTERVAL_COUNT",.*"300,20260302,\.06,/)
  const seen = await store.rows({
    sql: sql`SELECT line, left(raw, 12) AS raw FROM rejected_row WHERE arrival = ${arrival} ORDER BY line`,
  })
  t.same(seen, [
    { line: 3, raw: '300,20260301' },
    { line: 17, raw: '300,20260302' },
  ])
})

t.test(
  'the length that the file states is that of the read, whatever the profile has',
  async (t) => {
    t.notOk(profile.usage.intervals.Electric.includes(300))
    const found = await store.rows({
      sql: sql`SELECT meter_id, seconds, toUInt32(count()) AS rows, toString(min(starts_at)) AS first
      FROM usage_read FINAL WHERE startsWith(meter_id, '510200') GROUP BY ALL ORDER BY ALL`,
    })
    t.same(found, [
      { meter_id: '5102000001-B1', seconds: 1_800, rows: 48, first: '2026-02-28 14:00:00' },
      { meter_id: '5102000001-E1', seconds: 1_800, rows: 93, first: '2026-02-28 14:00:00' },
      { meter_id: '5102000002-E1', seconds: 300, rows: 288, first: '2026-02-28 14:00:00' },
    ])
  },
)

t.test('small files load together as each by itself', async (t) => {
  const { arrival } = await arrive(ofMeter('610200'))
  await complete(arrival)
  const queued = rememberJobs(line)
  const pair = [await arrive(ofMeter('710200')), await arrive(ofMeter('810200'))]
  await gather(
    context,
    pair.map((one) => one.arrival),
  )
  await runAll(line, queued)
  const own = await context.ledger.state(arrival)
  for (const [at, meter] of ['710200', '810200'].entries()) {
    const state = await context.ledger.state(pair[at]?.arrival ?? 0)
    t.not(state?.groupId, 0, 'it was in a group')
    const { rows, quantity, notes, meters, lastIntervalEnd } = own as FileState
    t.match(state, { status: 'published', rows, quantity, meters, lastIntervalEnd })
    t.same(state?.notes.warnings, notes.warnings)
    const text = JSON.stringify(await readsOf(meter))
    t.equal(text.replaceAll(meter, '610200'), JSON.stringify(await readsOf('610200')))
  }
})

t.test('a lost chunk and a repair convert the file again', async (t) => {
  const { arrival, path } = await arrive(spoiled(ofMeter('910200')))
  await receive(context, arrival)
  rmSync(landedFolder(folders.landing, arrival), { recursive: true })
  await reconcile(context, arrival)
  await settle(context, arrival)
  const first = (await context.ledger.state(arrival)) as FileState
  t.match(first, { status: 'published', rows: { accepted: 429, rejected: 2 } })
  const reads = await readsOf('910200')
  const { fileName } = first
  copyFileSync(path, keptPath(folders.archive, { arrival, fileName }))
  await store.command({ sql: sql`DELETE FROM usage_read WHERE meter_id = '9102000001-E1'` })
  const damage = async () => (await verify(context, { files: false, lookMs: 1 })).damage
  t.match(await damage(), [{ kind: 'rows', arrival }])
  const ordered = await orderRepair(context, { who: 'ann', via: 'command' }, arrival)
  if ('obstacle' in ordered) return t.fail(ordered.obstacle)
  t.match(await complete(ordered.arrival), { status: 'published' })
  t.same(await damage(), [])
  t.same(await readsOf('910200'), reads)
  return undefined
})

t.test(
  'a file with the header of the plain layout is read as such, and the receipt says so',
  async (t) => {
    const { arrival } = await line.arrive('DEMO_03032026_Electric_99.csv', [
      'A,S,M,3/1/2026 0:00,1',
    ])
    const state = await complete(arrival)
    t.match(state, { status: 'published', rows: { accepted: 1 } })
    t.match(state.notes.warnings, [/read as such, not as nem12/])
  },
)

t.test('rows of a mapped file are judged as those of the plain layout', async (t) => {
  const columns = { meter: 'Meter', time: 'Time', quantity: 'Value' }
  const setting = { timeZone: 'America/Detroit', format: { name: 'csv', columns, interval: 1_800 } }
  const times = Array.from({ length: 50 }, (_, at) => {
    // The hour from one to two is there twice.
    const half = at < 4 ? at : at - 2
    return `MC,2026-11-01 ${String(Math.floor(half / 2)).padStart(2, '0')}:${half % 2 ? '30' : '00'},1`
  })
  const rows = ['Meter,Time,Value', ...times, '', 'MC,2026-03-08 02:15,1', 'MC,2026-11-02 00:00,x']
  const checked = async (text: string, name: string) => {
    const path = join(folders.inbox, name)
    writeFileSync(path, text)
    const usage = { futureHours: 87_600 }
    const options = {
      profile: profileWith({ ...setting, usage }),
      store,
      folders,
      log: context.log,
    }
    const [found] = await check(await toEntries([path]), options)
    return found
  }
  const whole = await checked(`${rows.join('\n')}\n`, 'DEMO_03112026_Electric.csv')
  t.match(whole?.receipt, {
    status: 'published',
    rows: { read: 52, accepted: 50, rejected: 2 },
    quantity: { accepted: '50' },
    firstIntervalStart: '2026-11-01T04:00:00.000Z',
    lastIntervalEnd: '2026-11-02T05:00:00.000Z',
  })
  t.match(whole?.badRows, [
    { line: 53, column: 'TimeStamp', code: 'NONEXISTENT_TIME', row: 'MC,2026-03-08 02:15,1' },
    { line: 54, column: 'TotalUnit', code: 'NOT_A_NUMBER', row: 'MC,2026-11-02 00:00,x' },
  ])
  const row = `MC,2026-11-02 00:30,${'x'.repeat(979)}`
  const long = await checked([...rows, `${row}💡`, ''].join('\n'), 'DEMO_03112026_Electric_3.csv')
  t.match(long?.badRows[2], { line: 55, code: 'NOT_A_NUMBER' })
  t.equal(long?.badRows[2]?.row, row, 'no character is cut in two')
  const unended = await checked(rows.slice(0, 40).join('\n'), 'DEMO_03112026_Electric_2.csv')
  t.match(unended?.badRows, [{ line: 40, code: 'MAYBE_CUT', row: rows[39] }])
})

t.test('a file without its end waits or is refused', async (t) => {
  const { arrival } = await arrive(sample.replace('\n900\n', '\n'))
  t.match(await complete(arrival), {
    status: 'quarantined',
    fault: 'TRUNCATED',
    reason: 'no 900 record ends the file; send the complete file again',
  })
})

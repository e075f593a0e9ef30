import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readLedger } from '../../../infra/metrics/ledger.js'
import { readMinutes } from '../../../infra/operations/panels/minutes.js'
import type { PanelSource } from '../../../infra/operations/panels/query.js'
import { claimHeld, register } from '../../../pipeline/customers/registrations.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { keptPath } from '../../../pipeline/verify/archive.js'
import { orderRepair } from '../../../pipeline/verify/repair.js'
import { verify } from '../../../pipeline/verify/verify.js'
import { momentsOf, someOf } from '../../rig/sample.js'
import { createLineByHand } from '../by-hand.js'
import { customerAt, registeringAt } from '../customers/registering.js'
import { dyingStore } from '../dying.js'
import { createErasing } from '../erase/erasing.js'

const line = await createLineByHand(t)
const { context, arrive } = line
const { store, folders } = context
const { known, terminate, find } = createErasing(line)
const actor = { who: 'ann', via: 'command' } as const

const hours = (account: string, meter: string, quantity: number, count = 6) =>
  Array.from({ length: count }, (_, hour) => {
    return `${account},S-${meter},${meter},6/1/2024 ${hour}:00,${quantity + hour}`
  })

async function complete(arrival: number, own = context) {
  await receive(own, arrival)
  await reconcile(own, arrival)
  await settle(own, arrival)
}

/** Takes a file in up to its receipt; it is kept in the archive and nowhere else. */
async function load(
  name: string,
  rows: readonly string[],
  more: { header?: string } = {},
  own = context,
) {
  const fileName = `DEMO_${name}.csv`
  const { arrival, path } = await arrive(fileName, rows, more.header)
  await complete(arrival, own)
  copyFileSync(path, keptPath(folders.archive, { arrival, fileName }))
  rmSync(path)
  return arrival
}

const look = async () => (await verify(context, { files: false, lookMs: 1 })).damage
const lost = async () => {
  const rows = (await look()).filter(({ kind }) => kind === 'rows')
  return rows.map(({ arrival }) => arrival).sort((a, b) => a - b)
}

async function repair(arrival: number): Promise<string> {
  const found = await orderRepair(context, actor, arrival)
  if ('obstacle' in found) return found.obstacle
  await complete(found.arrival)
  const state = await context.ledger.state(found.arrival)
  return `${state?.status}${state?.reason === '' ? '' : `: ${state?.reason}`}`
}

const columns = 'meter_id, starts_at, seconds, quantity, account_number, external_site_id, version'
const reads = () => find(`SELECT ${columns} FROM usage_current ORDER BY meter_id, starts_at`)

/** Rows and quantities that operators are shown. */
async function readCounts() {
  const samples = (await readLedger(store, context.profile)).filter(({ name }) =>
    /^tieline_(rows|quantity)$/.test(name),
  )
  const source = { store, profile: context.profile, now: () => new Date() } as PanelSource
  const { quantity } = await readMinutes(source)
  return { samples, quantities: Object.values(quantity).map((one) => one.reduce((a, b) => a + b)) }
}

/** Every table with published rows is emptied by \`lose\`, and repaired. */
async function sameAfterLoss(t: Test, state: () => Promise<unknown>, lose: string) {
  const before = await state()
  await store.command({ sql: lose, settings: { mutations_sync: 1 } })
  t.not(JSON.stringify(await state()), JSON.stringify(before), 'rows are gone')
  const arrivals = await lost()
  t.not(arrivals.length, 0)
  for (const arrival of arrivals) t.equal(await repair(arrival), 'published')
  t.same(await state(), before)
  t.same(await look(), [])
}

const registered = { ...context, profile: { ...context.profile, ingestion: 'registered' as const } }

t.test('reads come back with their versions, below later corrections', async (t) => {
  await load('01062024_Electric', [
    ...hours('A', 'M1', 1),
    ...hours('B', 'M2', 2),
    ...hours('A', 'M1', 1),
  ])
  await load('02062024_Electric', [...hours('A', 'M1', 1), ...hours('C', 'M3', 4)])
  const third = await load('03062024_Electric', hours('A', 'M1', 5, 3))
  await load('04062024_Electric', [...hours('A', 'M1', 7, 2), 'C,S-M2,M2,6/1/2024 0:00,2'])
  const files = [
    ['05062024_Electric', [...hours('N', 'M4', 1), ...hours('K', 'M4', 20, 2)]],
    ['06062024_Electric', hours('N', 'M4', 40, 4)],
  ] as const
  const at = (clientId: string, accountNumber: string) =>
    customerAt({ clientId, accountNumber, externalSiteId: 'S-M4', meterId: 'M4' })
  await register(registeringAt(store), [at('k', 'K')])
  for (const [name, rows] of files) await load(name, rows, {}, registered)
  await register({ ...registeringAt(store), profile: registered.profile }, [at('n', 'N')])
  await claimHeld(registeringAt(store))
  t.same(await look(), [])
  const part = `ALTER TABLE usage_read DELETE WHERE bitShiftRight(version, 32) = ${third}`
  for (const lose of someOf(['TRUNCATE TABLE usage_read', part])) {
    await sameAfterLoss(t, reads, lose)
  }
  await store.command({ sql: 'OPTIMIZE TABLE usage_read FINAL' })
  t.same(await look(), [])
})

t.test('what was published meanwhile stays in force', async (t) => {
  const first = await load('07062024_Electric', hours('D', 'M5', 1))
  const lose = `ALTER TABLE usage_read DELETE WHERE bitShiftRight(version, 32) = ${first}`
  await store.command({ sql: lose, settings: { mutations_sync: 1 } })
  await load('08062024_Electric', hours('D', 'M5', 30, 2))
  t.same(await lost(), [first])
  const counted = await readCounts()
  t.equal(await repair(first), 'published')
  t.same(await readCounts(), counted, 'no row is counted twice')
  t.match(
    await find(
      "SELECT toString(quantity) AS quantity FROM usage WHERE meter_id = 'M5' ORDER BY starts_at",
    ),
    ['30', '31', '3', '4', '5', '6'].map((quantity) => ({ quantity })),
  )
  t.same(await look(), [])
})

t.test('an erased account stays erased', async (t) => {
  const first = await load('09062024_Electric', [...hours('X', 'M6', 1), ...hours('Y', 'M7', 1)])
  await store.command({
    sql: `ALTER TABLE usage_read DELETE WHERE bitShiftRight(version, 32) = ${first}`,
    settings: { mutations_sync: 1 },
  })
  await terminate({ account_number: 'X' })
  await eraseDue(context)
  t.equal(await repair(first), 'published')
  t.match(
    await find(`SELECT account_number AS account, toUInt32(count()) AS rows FROM usage_read
      WHERE meter_id IN ('M6', 'M7') GROUP BY account`),
    [{ account: 'Y', rows: 6 }],
  )
  t.same(await look(), [])
})

t.test('records of every kind come back, those that were replaced too', async (t) => {
  const golden = (feed: string) => {
    const [header = '', ...rows] = readFileSync(
      join('test', 'golden', `DEMO_05022026_${feed}.csv`),
      'utf8',
    )
      .trim()
      .split('\n')
    return { header, rows }
  }
  const bills = golden('Billing')
  await load('05022026_Billing', bills.rows, bills)
  const dearer = bills.rows.map((row) => row.replace('512.5,512.5', '512.5,600'))
  await load('06022026_Billing', dearer, bills)
  const cycles = golden('BillingCycles')
  await load('05022026_BillingCycles', cycles.rows, cycles)
  t.same(await look(), [])
  const counts = () =>
    find(`SELECT (SELECT toUInt32(count()) FROM billing_period_restatement) AS restated,
      (SELECT toUInt32(count()) FROM schedule_version) AS schedules`)
  const before = await counts()
  t.match(before, [{ restated: 1 }])
  for (const table of someOf(['billing_period_row', 'billing_cycle_row'])) {
    const state = () => find(`SELECT * FROM ${table} FINAL ORDER BY ALL`)
    await sameAfterLoss(t, state, `TRUNCATE TABLE ${table}`)
    t.same(await counts(), before)
  }
})

t.test('a termination that comes back ends its account at once', async (t) => {
  const at = { accountNumber: 'ENDS', externalSiteId: 'S-ENDS', meterId: 'ENDS' }
  await known({ ...at, clientId: 'ends' })
  const header = 'ContractAccount,ExternalSiteID,MeterID,TerminationDate,Reason'
  const arrival = await load('07062024_Terminations', ['ENDS,,,2024-06-30,'], { header })
  const end = () =>
    find("SELECT toString(valid_to) AS end FROM tenancy FINAL WHERE meter_id = 'ENDS'")
  t.same(await end(), [{ end: '2024-07-01 04:00:00' }])
  const lose = `ALTER TABLE termination_row DELETE WHERE account_number = 'ENDS'`
  await store.command({ sql: lose, settings: { mutations_sync: 1 } })
  await load('08062024_Electric', hours('ENDS', 'ENDS', 1))
  t.same(await end(), [{ end: null }])
  t.equal(await repair(arrival), 'published')
  t.same(await end(), [{ end: '2024-07-01 04:00:00' }])
})

t.test(
  'a repair does not write off rows of an arrival that a missing correction hid',
  async (t) => {
    const first = await load('13062024_Electric', hours('G', 'M10', 1, 24))
    const second = await load('14062024_Electric', hours('G', 'M10', 50, 12))
    const before = await reads()
    const lose = `ALTER TABLE usage_read DELETE WHERE bitShiftRight(version, 32) = ${second}
    OR (bitShiftRight(version, 32) = ${first} AND local_hour >= 16)`
    await store.command({ sql: lose, settings: { mutations_sync: 1 } })
    await store.command({
      sql: `INSERT INTO usage_read (meter_id, commodity, starts_at, seconds, local_day, local_hour,
        quantity, account_number, external_site_id, version)
      SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, old_quantity,
        old_account_number, old_external_site_id, old_version
      FROM restatement WHERE bitShiftRight(new_version, 32) = ${second}`,
    })
    t.same(await lost(), [second], 'older rows hide that others are missing')
    t.equal(await repair(second), 'published')
    t.match(await look(), [{ kind: 'rows', arrival: first, rows: 8 }], 'they stay reported')
    t.equal(await repair(first), 'published')
    t.same(await reads(), before)
    t.same(await look(), [])
  },
)

t.test('rows whose customer has left are not written off', async (t) => {
  const at = (clientId: string, accountNumber: string) =>
    customerAt({ clientId, accountNumber, externalSiteId: `S-${clientId}`, meterId: clientId })
  await register({ ...registeringAt(store), profile: registered.profile }, [
    at('M11', 'V'),
    at('M12', 'W'),
  ])
  const rows = [...hours('V', 'M11', 1), ...hours('W', 'M12', 1)]
  const arrival = await load('15062024_Electric', rows, {}, registered)
  t.same(await look(), [])
  const lose = `ALTER TABLE usage_read DELETE WHERE bitShiftRight(version, 32) = ${arrival}`
  await store.command({ sql: lose, settings: { mutations_sync: 1 } })
  await store.command({
    sql: "ALTER TABLE tenancy DELETE WHERE meter_id = 'M11'",
    settings: { mutations_sync: 1 },
  })
  const found = await orderRepair(context, actor, arrival)
  if ('obstacle' in found) throw new Error(found.obstacle)
  await complete(found.arrival, registered)
  t.match(await look(), [{ kind: 'rows', arrival, rows: 6 }])
  t.equal(await repair(arrival), 'published')
  t.same(await look(), [], 'a profile that stores every read brings them back')
})

const isTried = momentsOf(15)

t.test('a repair that dies at any statement is finished by another', async (t) => {
  const first = await load('12062024_Electric', hours('F', 'M9', 1))
  const lose = `ALTER TABLE usage_read DELETE WHERE bitShiftRight(version, 32) = ${first}`
  const before = await reads()
  for (let dies = 1, isOver = false; !isOver; dies++) {
    if (!isTried(dies)) continue
    await store.command({ sql: lose, settings: { mutations_sync: 1 } })
    const found = await orderRepair(context, actor, first)
    if ('obstacle' in found) throw new Error(found.obstacle)
    const { mortal, died } = dyingStore(store, { at: dies, when: 'before' })
    await receive(context, found.arrival)
    await reconcile({ ...context, store: mortal }, found.arrival).catch(() => undefined)
    isOver = !died()
    const again = await orderRepair(context, actor, first)
    t.match(again, { arrival: found.arrival }, 'the same repair goes on')
    await complete(found.arrival)
    t.same(await reads(), before, `died at statement ${dies}`)
    t.same(await look(), [])
  }
})

t.test('a repair gives no read another length or hour than it had', async (t) => {
  const day = (minutes: number) =>
    Array.from({ length: 1_440 / minutes }, (_, at) => {
      const [hour, minute] = [Math.floor((at * minutes) / 60), (at * minutes) % 60]
      return `L,S-M8,M8,6/9/2024 ${hour}:${String(minute).padStart(2, '0')},${minutes}`
    })
  await load('10062024_Electric', day(15))
  const correction = ['L,S-M8,M8,6/9/2024 0:00,7', 'L,S-M8,M8,6/9/2024 1:00,8']
  const first = await load('11062024_Electric', correction)
  const own = () =>
    find(`SELECT seconds, toString(quantity) AS quantity FROM usage_read
      WHERE bitShiftRight(version, 32) = ${first} ORDER BY starts_at`)
  const before = await own()
  t.match(before, [{ seconds: 900 }, { seconds: 900 }])
  const lose = `ALTER TABLE usage_read DELETE WHERE bitShiftRight(version, 32) = ${first}`
  await store.command({ sql: lose, settings: { mutations_sync: 1 } })
  t.equal(await repair(first), 'published')
  t.same(await own(), before, 'the stored reads are those of that time')
  await store.command({ sql: lose, settings: { mutations_sync: 1 } })
  await load('12062024_Electric', day(60))
  await store.command({
    sql: "ALTER TABLE usage_read DELETE WHERE meter_id = 'M8' AND seconds = 900",
    settings: { mutations_sync: 1 },
  })
  t.match(await repair(first), /^quarantined: other stored reads decide today/)
  t.same(await own(), [])
})

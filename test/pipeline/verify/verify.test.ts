import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { claimHeld, register } from '../../../pipeline/customers/registrations.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { keptPath } from '../../../pipeline/verify/archive.js'
import { readDamage, recordDamage, subjectOn } from '../../../pipeline/verify/damage.js'
import { verify } from '../../../pipeline/verify/verify.js'
import { createLineByHand } from '../by-hand.js'
import { customerAt, registeringAt } from '../customers/registering.js'
import { createErasing } from '../erase/erasing.js'

const line = await createLineByHand(t)
const { context, takeIn } = line
const { store, folders } = context
const { known, find } = createErasing(line)

const hours = (account: string, meter: string, quantity: number, count = 6) =>
  Array.from({ length: count }, (_, hour) => {
    return `${account},S-${meter},${meter},6/1/2024 ${hour}:00,${quantity + hour}`
  })

/** Takes a file in up to its receipt. */
async function load(name: string, rows: readonly string[], profile = context.profile) {
  const own = { ...context, profile }
  const arrival = await takeIn(`DEMO_${name}_Electric.csv`, rows)
  await reconcile(own, arrival)
  await settle(own, arrival)
  return arrival
}

const look = async () => (await verify(context, { files: true, lookMs: 1 })).damage
const merge = () => store.command({ sql: 'OPTIMIZE TABLE usage_read FINAL' })

/** Nothing may be missing, before and after the engine has merged what was replaced. */
async function sameAfterMerge(t: Test, what: string) {
  t.same(await look(), [], what)
  await merge()
  t.same(await look(), [], `${what}, merged`)
}

t.test('corrections, repeats and files out of order count as complete', async (t) => {
  await load('01062024', [...hours('A', 'M1', 1), ...hours('B', 'M2', 2), ...hours('A', 'M1', 1)])
  await load('02062024', hours('A', 'M1', 1))
  await sameAfterMerge(t, 'a file that repeats another')
  await load('03062024', [...hours('A', 'M1', 5, 3), 'C,S-M2,M2,6/1/2024 0:00,2'])
  await sameAfterMerge(t, 'a correction and a move')
  const late = await takeIn('DEMO_04062024_Electric.csv', hours('A', 'M1', 7))
  await load('05062024', hours('A', 'M1', 9, 2))
  await reconcile(context, late)
  await settle(context, late)
  await sameAfterMerge(t, 'a file that is published after a later one')
})

t.test('attaching the same rows twice counts once', async (t) => {
  const arrival = await takeIn('DEMO_06062024_Electric.csv', hours('A', 'M3', 1))
  const broken = {
    ...context,
    queues: { ...context.queues, add: () => Promise.reject(new Error('killed')) },
  }
  await reconcile(broken, arrival).catch(() => undefined)
  await reconcile(context, arrival)
  await settle(context, arrival)
  await sameAfterMerge(t, 'a file that was completed twice')
})

t.test('an attempt that was made before the clock was set back does not count', async (t) => {
  const rank = String(Date.now() + 3_600_000)
  const entry = { kind: 'published', target: 'usage_read', rows: 99, quantity: '99', rank }
  const corrected = await load('14062024', hours('A', 'M9', 1))
  const arrival = await takeIn('DEMO_15062024_Electric.csv', hours('A', 'M9', 5, 2))
  const replaced = { ...entry, kind: 'replaced', rows: -3, cause: arrival }
  await store.insert('published_rows', [
    { ...entry, arrival, cause: arrival },
    { ...replaced, arrival: corrected },
  ])
  await reconcile(context, arrival)
  await settle(context, arrival)
  await sameAfterMerge(t, 'the later attempt')
  const [noted] = await find(
    `SELECT toInt32(sum(rows)) AS rows FROM published_rows FINAL WHERE arrival = ${corrected}`,
  )
  t.same(noted, { rows: 4 })
})

t.test('held reads that are claimed count as complete', async (t) => {
  const profile = { ...context.profile, ingestion: 'registered' as const }
  await known({ clientId: 'k', accountNumber: 'K', externalSiteId: 'S-M4', meterId: 'M4' })
  const held = [...hours('N', 'M4', 1), ...hours('K', 'M4', 20, 2)]
  await load('07062024', held, profile)
  await load('08062024', hours('N', 'M4', 40, 4), profile)
  await load('09062024', hours('K', 'M4', 60, 1), profile)
  await sameAfterMerge(t, 'held reads')
  const at = { ...registeringAt(store), profile }
  await register(at, [
    customerAt({ clientId: 'n', accountNumber: 'N', externalSiteId: 'S-M4', meterId: 'M4' }),
  ])
  await claimHeld(at)
  t.match(
    await find(
      "SELECT toUInt32(count()) AS rows FROM usage WHERE meter_id = 'M4' AND account_number = 'N'",
    ),
    [{ rows: 5 }],
  )
  await sameAfterMerge(t, 'claimed reads')
})

t.test('what is erased does not count as missing', async (t) => {
  await load('10062024', [...hours('X', 'M5', 1), ...hours('Y', 'M6', 1)])
  await load('11062024', hours('X', 'M5', 3, 2))
  await line.arrive('DEMO_12062024_Terminations.csv', [])
  await createErasing(line).terminate({ account_number: 'X' })
  await eraseDue(context)
  t.same(await find("SELECT 1 FROM usage WHERE account_number = 'X'"), [])
  await sameAfterMerge(t, 'an erasure')
})

t.test('records of every published file are counted', async (t) => {
  const header =
    'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate'
  const bills = async (name: string, rows: readonly string[]) => {
    const { arrival } = await line.arrive(name, rows, header)
    await receive(context, arrival)
    await reconcile(context, arrival)
    await settle(context, arrival)
    return arrival
  }
  const first = await bills('DEMO_01072024_Billing.csv', [
    'P,S-M8,M8,2024-06-01,2024-06-30,10.5,,,,',
    'Q,S-M9,M9,2024-06-01,2024-06-30,4,,,,',
  ])
  await bills('DEMO_02072024_Billing.csv', [
    'P,S-M8,M8,2024-06-01,2024-06-30,11,,,,',
    'Q,S-M9,M9,2024-06-01,2024-06-30,4,,,,',
  ])
  t.match(await find('SELECT toUInt32(count()) AS rows FROM billing_period_row'), [{ rows: 3 }])
  t.same(await look(), [])
  await createErasing(line).terminate({ account_number: 'Q' })
  await eraseDue(context)
  t.same(await look(), [], 'an erased bill')
  await store.command({
    sql: `ALTER TABLE billing_period_row DELETE WHERE bitShiftRight(version, 32) = ${first}`,
    settings: { mutations_sync: 1 },
  })
  t.match(await look(), [{ kind: 'rows', arrival: first, rows: 1, quantity: '10.5' }])
  await store.command({ sql: `DELETE FROM published_rows WHERE arrival = ${first}` })
  await store.command({
    sql: `ALTER TABLE file_state UPDATE rows_accepted = 0 WHERE arrival = ${first}`,
  })
})

t.test('rows that are gone are found, by arrival, until they are back', async (t) => {
  const lost = await load('13062024', hours('L', 'M7', 1))
  const rows = `FROM usage_read WHERE bitShiftRight(version, 32) = ${lost}`
  await store.command({
    sql: `CREATE TABLE kept ENGINE = MergeTree ORDER BY version AS SELECT * ${rows}`,
  })
  await store.command({
    sql: `ALTER TABLE usage_read DELETE WHERE bitShiftRight(version, 32) = ${lost}`,
    settings: { mutations_sync: 1 },
  })
  const [found, ...others] = await look()
  t.same(others, [])
  t.match(found, { kind: 'rows', arrival: lost, rows: 6, quantity: '21' })
  t.match(
    found?.detail,
    /6 of 6 rows of DEMO_13062024_Electric\.csv \(arrival \d+\) are missing from usage_read/,
  )
  const [first] = await readDamage(store)
  await look()
  t.same((await readDamage(store))[0]?.since, first?.since, 'since it was first found')
  await store.command({ sql: 'INSERT INTO usage_read SELECT * FROM kept' })
  t.same(await look(), [])
  t.same(await readDamage(store), [], 'it is resolved')
})

t.test('an altered quantity is found by the control total', async (t) => {
  await store.command({
    sql: "ALTER TABLE usage_read UPDATE quantity = quantity + 1 WHERE meter_id = 'M7' AND local_hour = 0",
    settings: { mutations_sync: 1 },
  })
  t.match(await look(), [{ kind: 'rows', rows: 0, quantity: '-1' }])
  await store.command({
    sql: "ALTER TABLE usage_read UPDATE quantity = quantity - 1 WHERE meter_id = 'M7' AND local_hour = 0",
    settings: { mutations_sync: 1 },
  })
  t.same(await look(), [])
})

t.test('an archived file that was altered is found', async (t) => {
  const [state] = await find<{ arrival: number; fileName: string }>(
    'SELECT arrival, file_name AS fileName FROM file_state FINAL ORDER BY arrival LIMIT 1',
  )
  const path = keptPath(folders.archive, state as { arrival: number; fileName: string })
  mkdirSync(folders.archive, { recursive: true })
  writeFileSync(path, 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit\n')
  appendFileSync(path, 'altered\n')
  const found = [
    { kind: 'archive', subject: subjectOn(context.machine, path), arrival: state?.arrival },
  ]
  t.match(await look(), found)
  const other = { ...context, machine: 'other', folders: { ...folders, archive: folders.landing } }
  t.same((await verify(other, { files: true, lookMs: 1 })).damage, [])
  t.match(await readDamage(store), found, 'another machine does not know of it')
  t.ok(join(folders.archive).length > 0)
})

t.test('a ledger that lost rows is found', async (t) => {
  await store.command({ sql: 'DELETE FROM published_rows WHERE arrival = 1' })
  const found = await look()
  t.match(
    found.filter(({ kind }) => kind === 'ledger'),
    [{ detail: 'the rows of DEMO_01062024_Electric.csv (arrival 1) are not recorded' }],
  )
})

t.test('damage is a new problem when it concerns more rows or another quantity', async (t) => {
  const part = { kind: 'part', subject: 'a part', arrival: 0, detail: '' } as const
  const found = { covered: 'rows', kinds: ['part'], rows: 0, machine: 'here' } as const
  const sinceOf = async (rows: number, quantity: string) => {
    const damage = [{ ...part, rows, quantity }]
    await recordDamage(store, { ...found, damage }, new Date())
    return (await readDamage(store)).find(({ kind }) => kind === 'part')?.since.getTime()
  }
  const first = await sinceOf(2, '1.5')
  t.equal(await sinceOf(2, '1.500'), first)
  t.equal(await sinceOf(1, '9'), first, 'some rows are back')
  const more = await sinceOf(2, '9')
  t.not(more, first)
  t.not(await sinceOf(2, '9.5'), more, 'as many rows with another total')
})

t.test('numbers that the ledger lacks are one problem, until more are missing', async (t) => {
  const gap = async () => {
    await verify(context, { files: false, days: false, lookMs: 1 })
    const subject = 'numbers of arrival'
    return (await readDamage(store)).find((one) => one.kind === 'ledger' && one.subject === subject)
  }
  const lose = (arrival: number) =>
    store.command({
      sql: `ALTER TABLE arrival DELETE WHERE arrival = ${arrival}`,
      settings: { mutations_sync: 1 },
    })
  await lose(2)
  const first = await gap()
  t.match(first, { rows: 1, detail: /^1 of \d+ numbers of arrival are missing$/ })
  await load('20072024', hours('A', 'M1', 1))
  const later = await gap()
  t.not(later?.detail, first?.detail, 'the next night there are more numbers')
  t.same(later?.since, first?.since)
  await lose(3)
  t.not((await gap())?.since.getTime(), first?.since.getTime())
})

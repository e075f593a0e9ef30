import t from 'tap'
import { endClients, register, renewAll } from '../../../pipeline/customers/registrations.js'
import { metersInRecords } from '../../../pipeline/customers/stored-facts.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { createLineByHand } from '../by-hand.js'
import { createErasing } from '../erase/erasing.js'
import { customerAt, publishFile, type ReadAt } from './registering.js'

const line = await createLineByHand(t)
const { context, arrive, takeIn } = line
const { store } = context
const { known, load, terminate, find } = createErasing(line)
const july = (day: number) => `2024-07-${String(day).padStart(2, '0')}`
let files = 0

/** A file of reads on one day of July. */
async function takeReads(day: number, ...reads: readonly Omit<ReadAt, 'startsAt'>[]) {
  const rows = reads.map((read) => ({ ...read, startsAt: `${july(day)}T12:00:00Z` }))
  await load(`DEMO_${String(++files).padStart(2, '0')}072024`, ...rows)
}

interface Bill {
  readonly account: string
  readonly meterId: string
  readonly site?: string
  /** The day of July of MeterEffectiveDate. */
  readonly since?: number
  readonly document?: string
}

async function takeBill({
  account,
  meterId,
  site = 'S',
  since,
  document = '',
}: Bill): Promise<void> {
  const name = `DEMO_${String(++files).padStart(2, '0')}072024_Billing.csv`
  const { arrival } = await arrive(name, [])
  const row = {
    account_number: account,
    external_site_id: site,
    meter_id: meterId,
    billing_start_date: july(1),
    billing_end_date: july(31),
    document_number: document,
    total_consumption: '1',
    meter_effective_date: since === undefined ? null : july(since),
    version: String(BigInt(arrival) * 2n ** 32n + 2n),
  }
  await store.insert('billing_period_row', [row])
  const more = { settled_at: new Date().toISOString() }
  await publishFile(store, { arrival, feed: 'Billing', more })
  await renewAll(context, await metersInRecords(store, { table: 'billing_period_row', arrival }))
}

async function endOf(meterId: string, account: string): Promise<readonly (string | null)[]> {
  const rows = await store.rows<{ end: string | null }>({
    sql: `SELECT toString(valid_to) AS end FROM tenancy FINAL
      WHERE meter_id = {meterId:String} AND account_number = {account:String}`,
    parameters: { meterId, account },
  })
  return rows.map(({ end }) => end)
}

t.test('a fact about one meter counts, whatever was derived with it before', async (t) => {
  const place = { externalSiteId: 'pair', clientId: 'c' }
  await known({ ...place, accountNumber: 'OLD', meterId: 'one' })
  await known({ ...place, accountNumber: 'OTHER', meterId: 'two', clientId: 'd' })
  const stranger = { accountNumber: 'STRANGER', externalSiteId: 'pair' }
  for (const day of [4, 3, 2]) {
    await takeReads(day, { ...stranger, meterId: 'one' }, { ...stranger, meterId: 'two' })
  }
  await takeBill({ account: 'OLD', meterId: 'one', site: 'pair', since: 1 })
  await takeBill({ account: 'NEW', meterId: 'one', site: 'pair', since: 9 })
  t.same(await endOf('one', 'OLD'), ['2024-07-09 04:00:00'])
})

t.test('a date that a bill gave and, corrected, gives no more ends nothing', async (t) => {
  await known({ clientId: 'e', accountNumber: 'STAYS', meterId: 'back' })
  await takeBill({ account: 'STAYS', meterId: 'back', since: 1 })
  await takeBill({ account: 'WRONG', meterId: 'back', since: 9 })
  t.same(await endOf('back', 'STAYS'), ['2024-07-09 04:00:00'])
  await takeBill({ account: 'WRONG', meterId: 'back' })
  t.same(await endOf('back', 'STAYS'), [null], 'the date is withdrawn')
  await takeBill({ account: 'WRONG', meterId: 'back', since: 12 })
  t.same(await endOf('back', 'STAYS'), ['2024-07-12 04:00:00'])
  await takeBill({ account: 'WRONG', meterId: 'back', site: 'elsewhere', since: 12 })
  t.same(await endOf('back', 'STAYS'), [null], 'it is about another premise')
})

t.test('what was known of an account counts after it is erased', async (t) => {
  await known({ clientId: 'f', accountNumber: 'HERE', meterId: 'let' })
  await takeBill({ account: 'HERE', meterId: 'let', since: 1 })
  for (const day of [4, 3, 2]) await takeReads(day, { accountNumber: 'GUEST', meterId: 'let' })
  await terminate({ account_number: 'GUEST' })
  await eraseDue(context)
  t.same(await find(`SELECT 1 FROM usage_read WHERE account_number = 'GUEST'`), [])
  await takeBill({ account: 'NEXT', meterId: 'let', since: 9 })
  t.same(await endOf('let', 'HERE'), ['2024-07-09 04:00:00'])
})

t.test('who had a meter twice takes no reads of who had it in between', async (t) => {
  const meterId = 'let thrice'
  await known({ clientId: 'h', accountNumber: 'TWICE', meterId })
  await known({ clientId: 'i', accountNumber: 'BETWEEN', meterId })
  await takeBill({ account: 'TWICE', meterId, since: 1 })
  await takeBill({ account: 'BETWEEN', meterId, since: 9 })
  await takeBill({ account: 'TWICE', meterId, since: 17, document: 'second' })
  for (const day of [4, 12, 20]) await takeReads(day, { accountNumber: '', meterId })
  await terminate({ account_number: 'TWICE', termination_date: july(31) })
  await eraseDue(context)
  t.same(
    await find(`SELECT toString(local_day) AS day FROM usage_read WHERE meter_id = '${meterId}'`),
    [{ day: july(12) }],
  )
  const weights = await find(
    `SELECT arraySort(stretches.weight) AS weights FROM erasure FINAL WHERE account_number = 'TWICE'`,
  )
  t.match(weights, [{ weights: [0, Number] }], 'what was known of it counts once')
})

t.test('reads that name no account go with it though its client was unregistered', async (t) => {
  const meterId = 'let and left'
  await known({ clientId: 'j', accountNumber: 'LEFT', meterId })
  await takeBill({ account: 'LEFT', meterId, since: 1 })
  await takeReads(4, { accountNumber: '', meterId })
  await endClients(context, ['j'], 'left')
  await terminate({ account_number: 'LEFT', termination_date: july(31) })
  await eraseDue(context)
  t.same(await find(`SELECT 1 FROM usage_read WHERE meter_id = '${meterId}'`), [])
})

t.test('so does what files say of it between the start of the erasure and its end', async (t) => {
  await known({ clientId: 'g', accountNumber: 'THERE', meterId: 'let later' })
  await takeBill({ account: 'THERE', meterId: 'let later', since: 1 })
  await terminate({ account_number: 'VISITOR' })
  const arrival = await takeIn('DEMO_30062024_Electric.csv', [
    'VISITOR,S,let later,6/1/2024 1:00,1',
  ])
  await eraseDue(context)
  t.same(await find('SELECT 1 FROM erasure FINAL WHERE rank = 1'), [{ 1: 1 }], 'it waits')
  for (const day of [4, 3, 2]) {
    await takeReads(day, { accountNumber: 'VISITOR', meterId: 'let later' })
  }
  await reconcile(context, arrival)
  await settle(context, arrival)
  await eraseDue(context)
  t.same(await find('SELECT 1 FROM erasure FINAL WHERE rank = 1'), [])
  await takeBill({ account: 'NEXT', meterId: 'let later', since: 9 })
  t.same(await endOf('let later', 'THERE'), ['2024-07-09 04:00:00'])
})

t.test('what a record says counts although it was said before on as many facts', async (t) => {
  const old = customerAt({ clientId: 'r0', accountNumber: 'R0', meterId: 'stays' })
  const back = customerAt({ clientId: 'r1', accountNumber: 'R1', meterId: 'returns' })
  await register(context, [old])
  await register(context, [{ ...old, acctStatus: 'D' }])
  await register(context, [{ ...old, acctStatus: 'D' }, back])
  await endClients(context, ['r1'], 'left')
  t.match(await register(context, [back]), { changed: 1 })
  const clients = await find("SELECT client_id FROM registration WHERE meter_id = 'returns'")
  t.same(clients, [{ client_id: 'r1' }])
})

import { t } from 'tap'
import { readOwnBills } from '../../../api/reads/bills.js'
import { type ChangesContext, readChanges } from '../../../api/reads/changes.js'
import type { Reading } from '../../../api/reads/reading.js'
import { endClients } from '../../../pipeline/customers/registrations.js'
import { id, sql } from '../../../pipeline/store/sql.js'
import { billsSchema } from '../../../schemas/gateway/reads.js'
import { steady } from '../../pipeline/bills/rig.js'
import { customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { createCustomer, feedOf } from '../../pipeline/green-button/rig.js'
import { readingOf } from './rig.js'

const rig = await createCustomer(t)
const { store } = rig
const context = readingOf(t, store)
const january = { from: '2026-01-01', to: '2026-01-31' }

function parsed<T>(reading: Reading): T {
  if (reading.kind !== 'found') throw new Error(JSON.stringify(reading))
  return JSON.parse(reading.body) as T
}

interface BillsAnswer {
  readonly cursor: string | null
  readonly bills: readonly Readonly<Record<string, unknown>>[]
}

t.test('a customer sees what was computed, what was billed, and the difference', async (t) => {
  const answer = parsed<BillsAnswer>(await readOwnBills(context, 'anna', january))
  const { bills, cursor } = answer
  t.same(billsSchema.parse(answer), answer, 'it has the fields of its schema and no others')
  t.equal(cursor, null)
  t.match(
    bills.map((bill) => bill['meterId']),
    ['GAS', 'HOUSE', 'SOLAR'],
  )
  t.match(bills[1], {
    ...{ accountNumber: 'ACCOUNT-1', firstDay: '2026-01-01', lastDay: '2026-01-31' },
    ...{ status: 'computed', projected: null, computed: 82.9, billed: 82.9, variance: 0 },
    ...{ varianceStatus: 'match', quantityBilled: 744 },
  })
  t.match(bills[2], { meterId: 'SOLAR', billed: null, variance: null, varianceStatus: null })
  const none = { bills: [], cursor: null }
  t.same(parsed(await readOwnBills(context, 'bert', january)), none, 'nobody else sees them')
  const later = { from: '2026-02-01', to: '2026-02-28' }
  t.same(parsed(await readOwnBills(context, 'anna', later)), none)
})

t.test(
  'a bill with days that were another tenant’s waits until it is computed again',
  async (t) => {
    const meter = { meter: 'FLAT', account: '', from: '2026-01-01T05:00:00Z' }
    const at = (clientId: string, accountNumber: string) =>
      customerAt({ clientId, accountNumber, meterId: 'FLAT', rateCode: 'TAXED' })
    await rig.registerAt('2026-01-01', at('left', 'LEFT'))
    await rig.read({ ...meter, quantities: steady('0.25', 2_976) })
    const quantities = async (clientId: string) => {
      const { bills } = parsed<BillsAnswer>(await readOwnBills(context, clientId, january))
      const feed = await feedOf(store, { ...january, clientId })
      return { bills: bills.map(({ quantity }) => quantity), feed: feed.includes('UsageSummary') }
    }
    await rig.bill({ start: '2026-01-01' })
    t.same(await quantities('left'), { bills: [744], feed: true })
    await rig.registerAt('2026-01-16T05:00:00Z', at('came', 'CAME'))
    t.same(await quantities('left'), { bills: [], feed: false }, 'half of it is of the next tenant')
    await rig.bill({ start: '2026-01-01' })
    t.same(await quantities('left'), { bills: [360], feed: true })
    t.same(await quantities('came'), { bills: [384], feed: true })
  },
)

t.test('a landlord who sees the reads of a sub-account does not see its bill', async (t) => {
  const meterId = 'ROOM'
  const at = (clientId: string, accountNumber: string) =>
    customerAt({ clientId, accountNumber, meterId, rateCode: 'TAXED' })
  const landlord = at('landlord', 'LANDLORD')
  const readUnder = [{ accountNumber: 'TENANT' }]
  const seen = { ...landlord, meters: landlord.meters.map((one) => ({ ...one, readUnder })) }
  await rig.registerAt('2025-12-01', at('tenant', 'TENANT'))
  await rig.registerAt('2025-12-15', seen)
  const january1st = { meter: meterId, account: 'TENANT', from: '2026-01-01T05:00:00Z' }
  await rig.read({ ...january1st, quantities: steady('0.25', 2_976) })
  await rig.registerAt('2026-02-01', seen)
  await rig.bill({ start: '2026-01-01' })
  const shared = sql`SELECT 1 FROM registered_usage
    WHERE meter_id = ${meterId} AND hasAll(client_ids, ['landlord', 'tenant'])`
  t.equal((await store.rows({ sql: shared })).length, 2_976, 'both see the reads')
  const quantities = async (clientId: string) => {
    const { bills } = parsed<BillsAnswer>(await readOwnBills(context, clientId, january))
    return bills.map(({ quantity }) => quantity)
  }
  t.same(await quantities('tenant'), [744])
  t.notOk((await quantities('landlord')).includes(744))
  for (const view of ['projected_bill', 'day_cost', 'interval_cost']) {
    const clients = await store.rows({
      sql: sql`SELECT DISTINCT account_number AS account, client_ids AS clients FROM ${id(view)}
        WHERE meter_id = ${meterId} ORDER BY account`,
    })
    const tenants = { account: 'TENANT', clients: ['tenant'] }
    t.same(clients, [{ account: 'LANDLORD', clients: ['landlord'] }, tenants], view)
  }
})

t.test('bills come in pages', async (t) => {
  const small = { ...context, pageMax: 2 }
  const first = parsed<BillsAnswer>(await readOwnBills(small, 'anna', january))
  const cursor = first.cursor ?? ''
  const second = parsed<BillsAnswer>(await readOwnBills(small, 'anna', { ...january, cursor }))
  t.equal(second.cursor, null)
  t.same(
    [...first.bills, ...second.bills],
    parsed<BillsAnswer>(await readOwnBills(context, 'anna', january)).bills,
  )
  const wrong = { ...january, to: '2026-01-30', cursor }
  t.match(await readOwnBills(small, 'anna', wrong), { kind: 'wrong', detail: /^cursor/ })
  for (const forged of ['x', 'W10', 'eyJhIjoxfQ', cursor.slice(4)]) {
    const asked = { ...january, cursor: forged }
    t.match(await readOwnBills(small, 'anna', asked), { kind: 'wrong' }, forged)
  }
})

t.test('a bill that comes between two pages neither doubles nor hides another', async (t) => {
  const registerAll = async (...meterIds: readonly string[]) => {
    const at = { clientId: 'paul', accountNumber: 'APAUL', rateCode: 'TAXED' }
    const meters = meterIds.flatMap((meterId) => customerAt({ ...at, meterId }).meters)
    await rig.registerAt('2025-12-01', { ...customerAt({ ...at, meterId: 'P1' }), meters })
    await rig.bill({ start: '2026-01-01' })
  }
  const page = async (cursor?: string) => {
    const asked = { ...january, ...(cursor && { cursor }) }
    const answer = await readOwnBills({ ...context, pageMax: 2 }, 'paul', asked)
    const { bills, cursor: next } = parsed<BillsAnswer>(answer)
    return { next: next ?? undefined, meters: bills.map(({ meterId }) => meterId) }
  }
  await registerAll('P2', 'P3', 'P4', 'P5')
  const { meters, next } = await page()
  t.same(meters, ['P2', 'P3'])
  await registerAll('P1', 'P2', 'P3', 'P4', 'P5')
  t.same(await page(next), { meters: ['P4', 'P5'], next: undefined })
})

let caughtUp = 0
const pulling: ChangesContext = {
  ...context,
  catchUp: async () => {
    caughtUp++
  },
}

interface ChangesAnswer {
  readonly publishedSeq: number
  readonly cursor: string | null
  readonly changes: readonly Readonly<Record<string, unknown>>[]
}

async function pull(from: ChangesContext, since: number): Promise<ChangesAnswer> {
  const pages = [parsed<ChangesAnswer>(await readChanges(from, { since: String(since) }))]
  for (let last = pages[0]; last?.cursor != null; last = pages.at(-1)) {
    pages.push(parsed<ChangesAnswer>(await readChanges(from, { cursor: last.cursor })))
    t.ok((pages.at(-1)?.publishedSeq ?? 0) >= last.publishedSeq, 'the number only grows')
  }
  const changes = pages.flatMap((page) => page.changes)
  return { ...(pages.at(-1) as ChangesAnswer), changes }
}

t.test('the platform learns of reads, owners and ends, whatever the pages', async (t) => {
  const { publishedSeq, changes } = parsed<ChangesAnswer>(await readChanges(pulling, {}))
  t.equal(caughtUp, 1, 'after the server has caught up')
  t.same(changes, [], 'without a number only the newest number is answered')
  t.same(await pull(pulling, publishedSeq), { publishedSeq, cursor: null, changes: [] })
  const meterId = 'MOVED'
  const customer = customerAt({ clientId: 'old', accountNumber: 'A1', meterId })
  await rig.registerAt('2026-01-01', customer)
  await rig.read({ meter: meterId, account: 'A1', from: '2026-02-01T05:00:00Z', quantities: ['1'] })
  await endClients(
    registeringAt(store, () => new Date('2026-02-02T05:00:00Z')),
    ['old'],
    'closed',
  )
  const all = await pull(pulling, publishedSeq)
  const read = all.changes.find(({ cause }) => cause === 'read')
  t.match(read, { meterId, firstDay: '2026-02-01', lastDay: '2026-02-01', clientIds: ['old'] })
  t.match(all.changes[0], { cause: 'ownership', clientIdsBefore: [], clientIds: ['old'] })
  t.match(all.changes.at(-1), {
    ...{ cause: 'ownership', clientIdsBefore: ['old'], clientIds: [] },
    ...{ firstDay: '2026-02-02', lastDay: '2106-02-07' },
  })
  t.notOk('hash' in (all.changes[0] ?? {}))
  t.same(await pull({ ...pulling, pageMax: 1 }, publishedSeq), all)
})

t.test('a bill that is computed again is a change of costs of its days', async (t) => {
  const { publishedSeq } = parsed<ChangesAnswer>(await readChanges(pulling, {}))
  await rig.bill({ start: '2026-01-01' })
  const { changes } = await pull(pulling, publishedSeq)
  const house = changes.find(({ meterId }) => meterId === 'HOUSE')
  t.match(house, {
    ...{ cause: 'cost', clientIds: ['anna'], clientIdsBefore: ['anna'] },
    ...{ firstDay: '2026-01-01', lastDay: '2026-01-31', publishedSeq: publishedSeq + 1 },
  })
  t.same(await pull({ ...pulling, pageMax: 1 }, publishedSeq), await pull(pulling, publishedSeq))
})

t.test('wrong cursors, and numbers that are too old, are refused', async (t) => {
  t.match(await readChanges(pulling, { cursor: 'x' }), { kind: 'wrong', detail: /^cursor/ })
  const tooLarge = Buffer.from(`1.${'9'.repeat(20)}`).toString('base64url')
  t.match(await readChanges(pulling, { cursor: tooLarge }), { kind: 'wrong' })
  await store.command({
    sql: sql`INSERT INTO publication (published_seq, published_at, kind)
      SELECT max(published_seq) + 1, now() - INTERVAL 401 DAY, 'change' FROM publication`,
  })
  t.same(await readChanges(pulling, { since: '0' }), { kind: 'gone' })
  // As behind a restored backup, which has other changes under the numbers that follow.
  t.same(await readChanges(pulling, { since: '4000000000' }), { kind: 'gone' })
  const { publishedSeq } = parsed<ChangesAnswer>(await readChanges(pulling, {}))
  t.match(await readChanges(pulling, { since: String(publishedSeq) }), { kind: 'found' })
})

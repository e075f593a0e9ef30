/**
 * # 5.1 A customer registers later
 *
 * What: Reads of all meters are stored; a registration makes a customer's history visible
 * without copying it.
 * Why: Utilities send data for all customers, and most of them register later.
 * Try: Run `tieline register` with a customer of a loaded file and query `registered_usage`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { tieline } from '../../infra/command-line.js'
import { customerAt } from '../../pipeline/customers/registering.js'
import { sampleCustomer, sampleSite, without } from '../../schemas/gateway/sample-customer.js'
import { header, openStory, readAll, until } from '../rig/stack.js'

const story = await openStory(t)

const register = (name: string, lines: readonly unknown[], ...more: readonly string[]) => {
  const path = join(story.desk, name)
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))
  writeFileSync(path, `${text.join('\n')}\n`)
  return tieline('--home', story.home.path, 'register', path, ...more)
}
const ownersOf = (meterId: string) =>
  story.reader.rows<Record<string, unknown>>({
    sql: 'SELECT * FROM registered_usage WHERE meter_id = {meterId:String} ORDER BY starts_at',
    parameters: { meterId },
  })

t.test('the reads of customers who are not known are stored, and nobody sees them', async (t) => {
  const rows = [1, 2, 3].flatMap((day) => [
    `910020000001,5113000001,55000001,3/${day}/2024 0:00,1.5`,
    `910020000002,5113000002,55000002,3/${day}/2024 0:00,2`,
    `910020000002,5113000002,55000002,3/${day}/2024 1:00,2`,
    `LANDLORD,5113000001,55000001,3/${day}/2024 1:00,0.25`,
    `910020000002,5113000001,55000001,3/${day}/2024 2:00,8`,
  ])
  const name = 'DEMO_04032024_Electric.csv'
  const receipt = await story.loadBytes(name, [header, ...rows, ''].join('\n'))
  t.match(receipt, { status: 'published', rows: { accepted: 15, unregistered: 0 } })
  t.same(await story.reader.rows({ sql: 'SELECT * FROM registered_usage' }), [])
})

t.test('a registration makes their history appear at once, without copying it', async (t) => {
  const run = await register('first.json', [JSON.stringify(sampleCustomer(), undefined, 2)])
  t.match(run, { code: 0, stdout: /^1 customers with 1 meters are registered\n1 new or changed/ })
  const reads = await ownersOf('55000001')
  t.equal(reads.length, 3, 'the own rows, and none of an account that nobody knows')
  for (const read of reads) {
    t.match(read, { client_ids: ['7000000001'], billing_cycle_id: '7', rate_code: 'RES-TOU' })
  }
  t.match(reads[0], { unit: 'kWh', account_number: '910020000001', quantity: 1.5 })
})

t.test('a known account has its rows at its own premise only', async (t) => {
  const other = {
    customer: { clientId: '7000000002' },
    site: { externalSiteId: '5113000002' },
    meter: { accountNumber: '910020000002', meterId: '55000002', meterType: 'Electric' },
  }
  t.match(await register('second.json', [sampleCustomer(other)]), { code: 0 })
  t.equal((await ownersOf('55000002')).length, 6)
  const accounts = (await ownersOf('55000001')).map((read) => read['account_number'])
  t.notOk(accounts.includes('910020000002'), 'a row of a known account elsewhere is nobody else’s')
})

t.test('increments can be pulled: history that appears is published when it does', async (t) => {
  const rows = await story.reader.rows<{ later: boolean }>({
    sql: `SELECT min(r.published_at) > max(u.published_at) AS later
      FROM registered_usage AS r, usage AS u`,
  })
  t.same(rows, [{ later: true }])
})

t.test('the same again costs nothing', async (t) => {
  const parts = () => story.store.rows({ sql: 'SELECT count() AS n FROM registration_fact' })
  const before = await parts()
  const run = await register('again.json', [sampleCustomer()], '--json')
  t.match(JSON.parse(run.stdout), { customers: 1, changed: 0, meters: 1, bad: 0 })
  t.same(await parts(), before)
})

t.test('a bad record is named by line and field, and keeps no other out', async (t) => {
  const lines = [
    sampleCustomer({ customer: { clientId: '7000000003' } }),
    '',
    sampleCustomer({ site: { postalCode: 'Canary' } }),
    '{"clientId": "Canary"',
    without(sampleCustomer(), ['customerSites', 0, 'meters', 0, 'rateCode']),
  ]
  const run = await register('bad.json', lines)
  t.equal(run.code, 1)
  t.match(run.stderr, 'line 3: customerSites[0].postalCode use 5 digits, or A1A 1A1')
  t.match(run.stderr, 'line 4: is not JSON; write each customer as a JSON object')
  t.match(run.stderr, 'line 5: customerSites[0].meters[0].rateCode is missing')
  t.notMatch(run.stderr + run.stdout, /Canary|Ada/)
  t.match(run.stdout, /1 customers .*\n1 new or changed.*\n3 invalid records/)
})

t.test('two clients of one account share it: a read stays one row', async (t) => {
  const reads = await ownersOf('55000001')
  t.equal(reads.length, 3)
  for (const read of reads) t.same(read['client_ids'], ['7000000001', '7000000003'])
  const events = await story.reader.rows({
    sql: 'SELECT * FROM tenancy_event ORDER BY kind, new_account_number',
  })
  t.match(events, [
    { kind: 'shared', meter_id: '55000001', old_account_number: '910020000001' },
    { kind: 'suspected', meter_id: '55000001', new_account_number: '910020000002' },
    { kind: 'suspected', meter_id: '55000001', new_account_number: 'LANDLORD' },
  ])
})

t.test('a client whose record lists another meter of the premise shares them all', async (t) => {
  const record = {
    customer: { clientId: '7000000004' },
    meter: { meterId: 'G5000001', meterType: 'Gas', unitOfMeasure: 'ccf' },
  }
  t.match(await register('gas.json', [sampleCustomer(record)]), { code: 0 })
  for (const read of await ownersOf('55000001')) {
    t.same(read['client_ids'], ['7000000001', '7000000003', '7000000004'])
  }
  const own = await story.reader.rows({
    sql: `SELECT meter_id FROM registration WHERE client_id = '7000000004'`,
  })
  t.same(own, [{ meter_id: 'G5000001' }], 'a registration is what a record says')
})

t.test('a job on the queue registers too, as the gateway will do it', async (t) => {
  const queues = createQueues({ redisUrl: story.stack.redisUrl, prefix: 'story' })
  t.teardown(queues.close)
  const customer = customerAt({ clientId: 'queued', accountNumber: 'Q', meterId: 'by-job' })
  await queues.add('register', { v: 1, customers: [customer] })
  await queues.add('register', { v: 1, customers: [customer] })
  const registered = () =>
    story.reader.rows({ sql: `SELECT * FROM registration WHERE client_id = 'queued'` })
  await until(async () => (await registered()).length === 1)
  t.match(await registered(), [{ meter_id: 'by-job', valid_from: null }])
})

t.test('customers who come while others are registered are registered together', async (t) => {
  const queues = createQueues({ redisUrl: story.stack.redisUrl, prefix: 'story' })
  t.teardown(queues.close)
  const ids = Array.from({ length: 60 }, (_, at) => `wave-${at}`)
  const callOf = (clientId: string) => ({
    v: 1 as const,
    customers: [customerAt({ clientId, accountNumber: clientId, meterId: clientId })],
  })
  const factsOf = (clientId: string) =>
    story.store.rows<{ kind: string; recorded_at: string }>({
      sql: `SELECT kind, recorded_at FROM registration_fact WHERE startsWith(client_id, {clientId:String})
        ORDER BY at`,
      parameters: { clientId },
    })
  await Promise.all(ids.map((clientId) => queues.add('register', callOf(clientId))))
  await until(async () => (await factsOf('wave-')).length === ids.length)
  const inserts = new Set((await factsOf('wave-')).map((fact) => fact.recorded_at))
  t.ok(inserts.size < ids.length / 4, `${inserts.size} inserts`)

  const [back = '', gone = '', busy = ''] = ids.slice(-3)
  const closed = (clientId: string) => ({ v: 1 as const, customers: [], closed: [clientId] })
  const jobs = [callOf(busy), callOf(back), closed(back), callOf(back), callOf(gone), closed(gone)]
  for (const job of jobs) await queues.add('register', job)
  const kindsOf = async (clientId: string) => (await factsOf(clientId)).map(({ kind }) => kind)
  await until(async () => (await kindsOf(gone)).includes('closed'))
  t.same(await kindsOf(back), ['seen', 'closed', 'seen'], 'in the order of the jobs')

  const mover = (meterId: string) => ({
    v: 1 as const,
    customers: [customerAt({ clientId: 'mover', accountNumber: 'M', meterId })],
  })
  const others = [...ids.slice(0, 2).map(callOf), mover('before'), mover('after')]
  await Promise.all(others.map((job) => queues.add('register', job)))
  await until(async () => (await kindsOf('mover')).length === 3)
  t.same((await kindsOf('mover')).toSorted(), ['gone', 'seen', 'seen'], 'each knows those before')
})

t.test('names and addresses are nowhere: not in the store, the queue or the logs', async (t) => {
  await story.store.command({ sql: 'SELECT 1' })
  const personal = sampleSite()
  for (const name of ['address1', 'lastName'] as const) {
    const canary = String(personal[name])
    t.notMatch(readAll(story.home.logs), canary)
    const dump = await Promise.all(
      ['registration_fact', 'tenancy', 'registration', 'tenancy_event'].map((table) =>
        story.store.rows({ sql: `SELECT * FROM ${table}` }),
      ),
    )
    t.notMatch(JSON.stringify(dump), canary)
  }
})

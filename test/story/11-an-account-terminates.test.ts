/**
 * # 11. An account terminates
 *
 * What: After the days of grace every table forgets an account; a tombstone with counts stays.
 * Why: The specification asks for data clean-up, and an old file that is sent again must bring
 * nothing back.
 * Try: Set `termination.graceDays: 0`, load a termination and query `erasure`.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { register } from '../../pipeline/customers/registrations.js'
import { createQueues } from '../../pipeline/queues/bullmq.js'
import { type At, customerAt, registeringAt } from '../pipeline/customers/registering.js'
import { header, openStory, until } from './rig/stack.js'

const story = await openStory(t)
const queues = createQueues({ redisUrl: story.stack.redisUrl, prefix: 'story' })
t.teardown(() => queues.close())

const known = (at: At) => register(registeringAt(story.store), [customerAt(at)])
const gone = { clientId: 'olga', accountNumber: 'GONE-100', meterId: 'M' }
const next = { clientId: 'nina', accountNumber: '200', meterId: 'M' }
const leaving = { clientId: 'pat', accountNumber: '300', meterId: 'N', externalSiteId: 'P' }
const find = (sql: string) => story.store.rows<Record<string, unknown>>({ sql })
const lines = (...rows: readonly string[]) => `${rows.join('\n')}\n`
const daysAgo = (days: number) =>
  new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
const usage = lines(
  header,
  'GONE-100,S,M,6/1/2024 1:00,1',
  'GONE-100,S,M,6/1/2024 2:00,2',
  '?,S,M,6/1/2024 3:00,3',
  'GONE-100,S,M,never,4',
  '300,P,N,6/1/2024 1:00,5',
)

/** Tables that hold a row with a text, with the number of such rows. */
async function holding(text: string): Promise<Readonly<Record<string, number>>> {
  const tables = await story.store.rows<{ name: string }>({
    sql: `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree'`,
  })
  const found: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await story.store.rows<{ rows: string }>({
      sql: `SELECT toString(count()) AS rows FROM ${name}
        WHERE position(toString(tuple(*)), {text:String}) > 0`,
      parameters: { text },
    })
    if (row?.rows !== '0') found[name] = Number(row?.rows)
  }
  return found
}

/** Files of the outbox that contain a text. */
const filesWith = (text: string) =>
  [story.home.outbox, join(story.home.outbox, 'arrivals')].flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((one) => one.isFile() && readFileSync(join(folder, one.name), 'utf8').includes(text))
      .map(({ name }) => name)
      .sort(),
  )

t.test('before anything else, an account and what is known of it', async (t) => {
  await known(gone)
  await known(leaving)
  await story.loadBytes('DEMO_02062024_Electric.csv', usage)
  await story.loadBytes(
    'DEMO_03062024_Electric.csv',
    lines(
      header,
      'GONE-100,S,M,6/1/2024 2:00,2.5',
      '200,S,M,6/3/2024 1:00,6',
      '200,S,M,6/3/2024 2:00,7',
    ),
  )
  const bill = (account: string, place: string) => `${account},${place},2024-05-01,2024-05-31,9,,,,`
  const files = {
    'DEMO_05062024_Billing.csv': lines(
      'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate',
      bill('GONE-100', 'S,M'),
      bill('300', 'P,N'),
    ),
    'DEMO_05062024_BillingLines.csv': lines(
      'ContractAccount,MeterID,BillingStartDate,LineNumber,LineType,Description,Quantity,UnitPrice,Amount',
      'GONE-100,M,2024-05-01,1,Energy,Energy,9,1,9',
    ),
    'DEMO_05062024_Invoices.csv': lines(
      'ContractAccount,InvoiceNumber,InvoiceDate,DueDate,LineNumber,LineType,Description,Amount',
      'GONE-100,I1,2024-06-05,,1,Energy,Energy,9',
      '300,I2,2024-06-05,,1,Energy,Energy,9',
    ),
    'DEMO_05062024_PaymentPlans.csv': lines(
      'ContractAccount,PlanType,StartDate,EndDate,InstallmentAmount,Status',
      'GONE-100,BudgetBilling,2024-01-01,,9,Active',
    ),
  }
  for (const receipt of await story.loadAll(files)) t.equal(receipt.status, 'published')
  await known(next)
  const tables = Object.keys(await holding('GONE-100')).sort()
  t.same(tables, [
    'account_meter',
    'bill_line_row',
    'billing_period_row',
    'invoice_line_row',
    'payment_plan_row',
    'registration_fact',
    'reject',
    'restatement',
    'tenancy',
    'usage_read',
  ])
  t.same(filesWith('GONE-100'), [
    'DEMO_02062024_Electric.csv.rejects.csv',
    '1-DEMO_02062024_Electric.csv.rejects.csv',
  ])
})

t.test('a termination ends the tenancy at the end of its day', async (t) => {
  const receipt = await story.loadBytes(
    'DEMO_06062024_Terminations.csv',
    lines(
      'ContractAccount,ExternalSiteID,MeterID,TerminationDate,Reason',
      'GONE-100,,,2024-06-01,Moved out',
      `300,P,N,${daysAgo(5)},Moved out`,
    ),
  )
  t.match(receipt, { status: 'published', rows: { accepted: 2 } })
  t.match(
    await find(`SELECT account_number, toString(valid_from) AS first, toString(valid_to) AS last
      FROM registration ORDER BY account_number`),
    [
      { account_number: '200', first: '2024-06-03 05:00:00', last: null },
      { account_number: '300', last: / 0[45]:00:00$/ },
      { account_number: 'GONE-100', last: '2024-06-02 04:00:00' },
    ],
  )
})

t.test('after the days of grace every table has forgotten it, a tombstone stays', async (t) => {
  await queues.add('retain', { v: 1, night: true })
  await until(async () => (await find('SELECT 1 FROM erasure WHERE rank = 3')).length > 0)
  t.same(Object.keys(await holding('GONE-100')), ['erasure'])
  t.same(await holding('olga'), {}, 'nor is the client named')
  t.match(
    await find("SELECT who, via, detail FROM audit_log WHERE act = 'erase' ORDER BY number"),
    [
      { who: 'tieline', via: 'worker', detail: /^terminated accounts.*: \d+$/ },
      { who: 'tieline', via: 'worker', detail: /^rows of erased .* files: 1, of arrivals: 1$/ },
    ],
  )
  t.same(filesWith('GONE-100'), [], 'nor does a rejects file of the outbox have a row of it')
  const rejects = join(story.home.outbox, 'DEMO_02062024_Electric.csv.rejects.csv')
  t.equal(readFileSync(rejects, 'utf8'), '"Line","Column","Code","Detail","Row"\n')
  t.match(
    await find(`SELECT DISTINCT meter_id, toString(last_local_day) AS last
      FROM usage_change WHERE cause = 'erasure'`),
    [{ meter_id: 'M', last: '2024-06-01' }],
    'a consumer that pulls increments learns that the reads are gone',
  )
  t.match(
    await find('SELECT account_number, toString(terminated_on) AS day, counts FROM erasure FINAL'),
    [
      {
        account_number: 'GONE-100',
        day: '2024-06-01',
        counts: { usage_read: '3', reject: '1', invoice_line_row: '1', termination_row: '1' },
      },
    ],
    'who is in the days of grace is not erased',
  )
})

t.test('the reads of others are untouched', async (t) => {
  t.same(
    await find(
      `SELECT account_number, meter_id, toFloat64(quantity) AS quantity FROM usage ORDER BY quantity`,
    ),
    [
      { account_number: '?', meter_id: 'M', quantity: 3 },
      { account_number: '300', meter_id: 'N', quantity: 5 },
      { account_number: '200', meter_id: 'M', quantity: 6 },
      { account_number: '200', meter_id: 'M', quantity: 7 },
    ],
  )
  t.match(await find(`SELECT client_ids FROM registered_usage WHERE meter_id = 'M'`), [
    { client_ids: ['nina'] },
    { client_ids: ['nina'] },
  ])
  t.equal((await find('SELECT * FROM invoice_line')).length, 1)
})

t.test('an old file that is sent again brings nothing back', async (t) => {
  const receipt = await story.loadBytes('DEMO_02062024_Electric_2.csv', usage)
  t.match(receipt, {
    status: 'published',
    rows: { read: 5, accepted: 0, duplicate: 2, unregistered: 2, rejected: 1 },
  })
  const bills = await story.loadBytes(
    'DEMO_07062024_Invoices.csv',
    lines(
      'ContractAccount,InvoiceNumber,InvoiceDate,DueDate,LineNumber,LineType,Description,Amount',
      'GONE-100,I1,2024-06-05,,1,Energy,Energy,9',
    ),
  )
  t.match(bills, { status: 'published', rows: { accepted: 0, unregistered: 1 } })
  await known(gone)
  t.same(Object.keys(await holding('GONE-100')), ['erasure', 'reject'], 'nor does a record')
  await queues.add('retain', { v: 1, night: true })
  await until(async () => !('reject' in (await holding('GONE-100'))))
  t.same(filesWith('GONE-100'), [])
})

t.test('a termination that names a premise and no meter takes this premise alone', async (t) => {
  const hal = { clientId: 'hal', accountNumber: '400' }
  const places = [
    { ...hal, externalSiteId: 'LEFT', meterId: 'L1' },
    { ...hal, externalSiteId: 'LEFT', meterId: 'L2' },
    { ...hal, externalSiteId: 'KEPT', meterId: 'K' },
  ]
  const meters = places.flatMap((place) => customerAt(place).meters)
  await register(registeringAt(story.store), [{ clientId: 'hal', acctStatus: 'A', meters }])
  const rows = places.map(
    ({ externalSiteId, meterId }) => `400,${externalSiteId},${meterId},6/1/2024 1:00,8`,
  )
  await story.loadBytes('DEMO_08062024_Electric.csv', lines(header, ...rows))
  const seen = () =>
    find(
      `SELECT meter_id AS meter FROM registered_usage WHERE has(client_ids, 'hal') ORDER BY meter`,
    )
  t.same(await seen(), [{ meter: 'K' }, { meter: 'L1' }, { meter: 'L2' }])
  const receipt = await story.loadBytes(
    'DEMO_08062024_Terminations.csv',
    lines(
      'ContractAccount,ExternalSiteID,MeterID,TerminationDate,Reason',
      '400,LEFT,,2024-06-05,Sold',
    ),
  )
  t.match(receipt, { status: 'published', rows: { accepted: 1 } })
  t.same(
    await find(`SELECT meter_id AS meter, toString(valid_to) AS last FROM registration
      WHERE client_id = 'hal' ORDER BY meter`),
    [
      { meter: 'K', last: null },
      { meter: 'L1', last: '2024-06-06 04:00:00' },
      { meter: 'L2', last: '2024-06-06 04:00:00' },
    ],
  )
  await queues.add('retain', { v: 1, night: true })
  const erased = `SELECT 1 FROM erasure WHERE account_number = '400' AND rank = 3`
  await until(async () => (await find(erased)).length > 0)
  const left = await find(`SELECT meter_id AS meter FROM usage WHERE account_number = '400'`)
  t.same(left, [{ meter: 'K' }], 'both of its meters, and no other')
  t.same(await seen(), [{ meter: 'K' }])
  t.same(
    await find(`SELECT external_site_id AS site, meter_id AS meter FROM erasure FINAL
      WHERE account_number = '400'`),
    [{ site: 'LEFT', meter: '' }],
  )
  const late = `400,LEFT,L1,6/1/2024 2:00,8`
  t.match(await story.loadBytes('DEMO_09062024_Electric.csv', lines(header, late, ...rows)), {
    rows: { read: 4, accepted: 0, duplicate: 1, unregistered: 3 },
  })
})

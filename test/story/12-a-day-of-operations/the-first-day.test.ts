/**
 * # 12.1 The first day
 *
 * What: A utility's first files: schedules, 13 months of bills, usage, and a vendor that renames
 * its files.
 * Why: The order in which files arrive must not matter.
 * Try: Follow infra/guides/install.md with files of your own.
 */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { register } from '../../../pipeline/customers/registrations.js'
import { customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { createSshd } from '../../pipeline/sources/servers/sshd.js'
import { createFolder } from '../../rig/folder.js'
import { header, openStory, until } from '../rig/stack.js'

const sshd = await createSshd(createFolder(t))
t.teardown(() => sshd.close())
/** The folder of the utility's SFTP server. */
const outgoing = createFolder(t)

const story = await openStory(t, {
  profile: {
    sources: [
      {
        kind: 'sftp',
        name: 'utility',
        host: '127.0.0.1',
        port: sshd.port,
        ...sshd.login,
        path: outgoing,
        pollSeconds: 1,
        receipts: false,
      },
    ],
  },
  stack: { secret: (reference) => readFileSync('file' in reference ? reference.file : '', 'utf8') },
})

function send(name: string, text: string): void {
  writeFileSync(join(outgoing, `${name}.part`), text)
  renameSync(join(outgoing, `${name}.part`), join(outgoing, name))
}

const lines = (...rows: readonly string[]) => `${rows.join('\n')}\n`
const find = (sql: string) => story.reader.rows<Record<string, unknown>>({ sql })
const customers = Array.from({ length: 20 }, (_, at) => ({
  clientId: `C${at}`,
  accountNumber: `A${at}`,
  externalSiteId: `S${at}`,
  meterId: `M${at}`,
}))
/** Thirteen periods of a month, from January 2025 on. */
const periods = Array.from({ length: 13 }, (_, at) => {
  const day = (month: number, of: number) => new Date(Date.UTC(2025, month, of))
  const [first, last] = [day(at, 1), day(at + 1, 0)]
  return { first: first.toISOString().slice(0, 10), last: last.toISOString().slice(0, 10) }
})
const billing = lines(
  'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate',
  ...customers.flatMap(({ accountNumber, externalSiteId, meterId }) =>
    periods.map(
      ({ first, last }) =>
        `${accountNumber},${externalSiteId},${meterId},${first},${last},310,310,41.85,1.61,2019-06-01`,
    ),
  ),
)
const usage = lines(
  header,
  ...customers.flatMap(({ accountNumber, externalSiteId, meterId }) =>
    Array.from(
      { length: 24 },
      (_, hour) => `${accountNumber},${externalSiteId},${meterId},1/31/2026 ${hour}:00,0.5`,
    ),
  ),
)
const plans = (day: string, ...rows: readonly string[]) =>
  story.loadBytes(
    `DEMO_${day}022026_PaymentPlans.csv`,
    lines('ContractAccount,PlanType,StartDate,EndDate,InstallmentAmount,Status', ...rows),
  )

t.test('rates, holidays and cycles come first, as complete schedules', async (t) => {
  const files = {
    RateCodes: lines('RateCode,Description,RateType', 'RES,Residential,TOU'),
    RateTou: lines(
      'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate',
      'RES,Peak,0.2134,14,19,--06-01,--09-30',
      'RES,Off-Peak,0.1124,19,14,--06-01,--09-30',
      'RES,Peak,0.1684,14,19,--10-01,--05-31',
      'RES,Off-Peak,0.1043,19,14,--10-01,--05-31',
    ),
    RateFixed: lines(
      'RateCode,Name,Kind,Basis,Amount,Taxable,RateStartDate,RateEndDate',
      'RES,Service charge,Service,PerMonth,8.50,true,2025-01-01,',
    ),
    Holidays: lines('Date,Name', '2025-07-04,Independence Day', '2026-01-01,New Year'),
  }
  for (const [feed, text] of Object.entries(files)) {
    send(`DEMO_01022026_${feed}.csv`, text)
  }
  send('DEMO_01022026_Rates.done', '')
  send(
    'DEMO_01022026_BillingCycles.csv',
    lines(
      'BillingCycleID,StartDate,EndDate',
      ...periods.map(({ first, last }) => `7,${first},${last}`),
    ),
  )
  for (const feed of [...Object.keys(files), 'BillingCycles']) {
    t.match(
      await story.receiptOf(`DEMO_01022026_${feed}.csv`),
      { status: 'published', rows: { rejected: 0 } },
      feed,
    )
  }
})

t.test('13 months of billing and usage are joined with registered customers', async (t) => {
  send('DEMO_01022026_Billing.csv', billing)
  send('DEMO_01022026_Electric.csv', usage)
  t.match(await story.receiptOf('DEMO_01022026_Billing.csv'), {
    status: 'published',
    rows: { read: 260, accepted: 260 },
    quantity: { accepted: '80600' },
    meters: 20,
  })
  t.match(await story.receiptOf('DEMO_01022026_Electric.csv'), {
    status: 'published',
    rows: { accepted: 480 },
  })
  await until(() => readdirSync(outgoing).length === 0)
  const known = customers.map(customerAt)
  await register(registeringAt(story.store), known)
  t.same(
    await find(`SELECT toString(count()) AS bills, toString(sum(b.total_consumption)) AS billed
      FROM billing_period AS b
      INNER JOIN registration AS r ON r.meter_id = b.meter_id AND r.account_number = b.account_number
      INNER JOIN billing_cycle AS c ON c.billing_cycle_id = r.billing_cycle_id
        AND c.start_date = b.billing_start_date AND c.last_date = b.billing_end_date
      INNER JOIN rate_code AS p ON p.rate_code = r.rate_code`),
    [{ bills: '260', billed: '80600' }],
    'bills, cycles and rates match',
  )
  t.same(await find('SELECT toString(sum(quantity)) AS kwh FROM registered_usage'), [
    { kwh: '240' },
  ])
})

t.test('a daily payment-plan file: new rows are distinguished from known ones', async (t) => {
  const first = [
    'A1,BudgetBilling,2026-01-01,,85.00,Active',
    'A2,BudgetBilling,2026-01-01,,60.00,Active',
  ]
  t.match(await plans('01', ...first), { status: 'published', rows: { accepted: 2 } })
  const next = await plans(
    '02',
    'A1,BudgetBilling,2026-01-01,,85.00,Active',
    'A2,BudgetBilling,2026-01-01,2026-02-01,60.00,Completed',
    'A3,PaymentArrangement,2026-02-01,2026-07-01,41.67,Active',
  )
  t.match(next, {
    status: 'published',
    rows: { read: 3, accepted: 2, duplicate: 1 },
    restated: { rows: 1, netQuantity: '0' },
  })
  t.same(
    await find('SELECT account_number AS account, status FROM payment_plan ORDER BY account'),
    [
      { account: 'A1', status: 'Active' },
      { account: 'A2', status: 'Completed' },
      { account: 'A3', status: 'Active' },
    ],
  )
})

t.test('the vendor renames its files: nothing is counted twice', async (t) => {
  send('DEMO_02022026_Billing_1.csv', billing)
  t.match(await story.receiptOf('DEMO_02022026_Billing_1.csv'), {
    status: 'published',
    rows: { read: 260, accepted: 0, duplicate: 260 },
  })
  send('Billing-2026-02-02.csv', billing)
  const outbox = () => readdirSync(story.home.outbox).filter((name) => name.includes('Billing-'))
  await until(() => outbox().length > 0)
  t.match(await find(`SELECT fault FROM file_load WHERE file_name = 'Billing-2026-02-02.csv'`), [
    { fault: 'FILE_NAME' },
  ])
  t.notOk(existsSync(join(outgoing, 'Billing-2026-02-02.csv')), 'it is removed from the source')
  t.same(await find('SELECT toString(count()) AS bills FROM billing_period'), [{ bills: '260' }])
})

/**
 * # 9.3 A payment plan arrives
 *
 * What: A customer with budget billing is billed an instalment, and the comparison says so.
 * Why: A difference that has a cause need not be looked into; one without a cause must be.
 * Try: Load a PaymentPlans file, then run `tieline explain --account A1 --period 2026-01-01`.
 */
import t from 'tap'
import { billCommand } from '../../../infra/commands/bill.js'
import { explainCommand } from '../../../infra/commands/explain.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { commandContext } from '../../infra/command-line.js'
import { customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { rateHeaders } from '../rig/bill-case.js'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t, {
  profile: {
    usage: { intervals: { Electric: ['day', 900] } },
    // Nothing is billed or compared unless it is asked for.
    billing: { daysBackMax: 1 },
  },
})
const file = (...lines: readonly string[]) => `${lines.join('\n')}\n`
const numbers = [1, 2, 3]
const days = Array.from({ length: 31 }, (_, at) => `1/${at + 1}/2026`)

/** 31 days of 20 kWh at 10 cents are 62 dollars. */
t.test('usage, rates and bills of January, and an instalment of 60 dollars', async (t) => {
  await register(
    registeringAt(story.store),
    numbers.map((n) => customerAt({ clientId: `C${n}`, accountNumber: `A${n}`, meterId: `M${n}` })),
  )
  const receipts = await story.loadAll({
    'DEMO_01022026_RateCodes.csv': file(rateHeaders.RateCodes, 'RES,Residential,Flat'),
    'DEMO_01022026_RateFlat.csv': file(rateHeaders.RateFlat, 'RES,0.1,2025-01-01,,'),
    'DEMO_01022026_BillingCycles.csv': file(
      'BillingCycleID,StartDate,EndDate',
      '7,2026-01-01,2026-01-31',
    ),
    'DEMO_01022026_Electric.csv': file(
      header,
      ...numbers.flatMap((n) => days.map((day) => `A${n},S,M${n},${day},20`)),
    ),
    'DEMO_01022026_Billing.csv': file(
      'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate',
      ...numbers.map((n) => `A${n},S,M${n},2026-01-01,2026-01-31,620,620,${n === 3 ? 62 : 60},,`),
    ),
    'DEMO_01022026_PaymentPlans.csv': file(
      'ContractAccount,PlanType,StartDate,EndDate,InstallmentAmount,Status',
      'A1,BudgetBilling,2025-06-01,,60.00,Active',
    ),
  })
  for (const { status, feed } of receipts) t.equal(status, 'published', feed ?? '')
})

const printed: string[] = []
const context = commandContext(story.home.path, (text) => printed.push(text))

t.test('the comparison says which difference is an instalment, and which is not', async (t) => {
  t.equal(await billCommand(context, { cycle: '7', period: '2026-01-01', json: false }), 0)
  const found = await story.reader.rows({
    sql: `SELECT account_number AS account, cost_status AS status,
        mapApply((k, v) -> (k, toString(v)), cost_causes) AS causes
      FROM bill_variance ORDER BY account`,
  })
  t.same(found, [
    { account: 'A1', status: 'differs', causes: { budgetBilling: '2' } },
    { account: 'A2', status: 'differs', causes: { unexplained: '2' } },
    { account: 'A3', status: 'match', causes: {} },
  ])
})

t.test('the explanation of the bill names it', async (t) => {
  for (const account of ['A1', 'A2']) {
    const asked = { account, period: '2026-01-01', json: false }
    t.equal(await explainCommand(context, asked), 0)
  }
  const [planned = '', other = ''] = printed.slice(-2)
  t.match(planned, /computed 62\.00\nbilled 60\.00, [\s\S]*\n {2}budgetBilling 2\.00$/)
  t.match(other, /\n {2}unexplained 2\.00$/)
})

t.test('a plan that is cancelled later explains nothing any more', async (t) => {
  const receipt = await story.loadBytes(
    'DEMO_02022026_PaymentPlans.csv',
    file(
      'ContractAccount,PlanType,StartDate,EndDate,InstallmentAmount,Status',
      'A1,BudgetBilling,2025-06-01,,60.00,Cancelled',
    ),
  )
  t.match(receipt, { status: 'published', restated: { rows: 1 } })
  await billCommand(context, { cycle: '7', period: '2026-01-01', json: false })
  const found = await story.reader.rows({
    sql: `SELECT mapKeys(cost_causes) AS causes FROM bill_variance WHERE account_number = 'A1'`,
  })
  t.same(found, [{ causes: ['unexplained'] }])
})

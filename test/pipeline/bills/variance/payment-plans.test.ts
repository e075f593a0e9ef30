import t from 'tap'
import { customerAt } from '../../customers/registering.js'
import { billRig, steady } from '../rig.js'

const rig = await billRig(t)
/** January 2026 begins at 5:00 UTC in Detroit and has 2,976 quarter hours; 0.25 kWh each are 744. */
const january = '2026-01-01T05:00:00Z'
const quarters = 2_976

await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,', 'TAXED,Taxed,Flat,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,', 'TAXED,0.1,2025-01-01,,'],
  RateFixed: [
    'TAXED,Service charge,Service,PerMonth,8.5,true,2025-01-01,',
    'TAXED,Tax,TaxPercent,Percent,4,false,2025-01-01,',
  ],
  BillingCycles: ['7,2026-01-01,2026-01-31'],
})

interface Made {
  readonly rate?: string
  /** Account where it is not the meter's own. */
  readonly account?: string
  readonly cost: string
  readonly quarters?: number
  /** PlanType to Status of PaymentPlans. */
  readonly plan?: string
  /** InvoiceNumber to Amount of Invoices, from the line number on. */
  readonly invoice?: readonly string[]
  readonly causes: object
}

/** Each costs 744 x 0.10 = 74.40, or (74.40 + 8.50) x 1.04 = 86.22 with charges of 11.82. */
const made: Readonly<Record<string, Made>> = {
  budget: {
    cost: '60.00',
    plan: 'BudgetBilling,2025-06-01,,60.00,Active',
    causes: { budgetBilling: '14.4' },
  },
  near: {
    cost: '74.30',
    plan: 'BudgetBilling,2025-06-01,,74.30,Active',
    causes: { budgetBilling: '0.1' },
  },
  unnamed: {
    cost: '61.00',
    plan: 'BudgetBilling,2025-06-01,2026-12-31,,Completed',
    causes: { budgetBilling: '13.4' },
  },
  other: {
    cost: '60.00',
    plan: 'BudgetBilling,2025-06-01,,55.00,Active',
    causes: { budgetBilling: '19.4', unexplained: '-5' },
  },
  // 74.40 is nearer to what was billed than an instalment of 200.
  far: {
    cost: '60.00',
    plan: 'BudgetBilling,2025-06-01,,200.00,Active',
    causes: { unexplained: '14.4' },
  },
  cancelled: {
    cost: '60.00',
    plan: 'BudgetBilling,2025-06-01,,60.00,Cancelled',
    causes: { unexplained: '14.4' },
  },
  ended: {
    cost: '60.00',
    plan: 'BudgetBilling,2025-06-01,2026-01-30,60.00,Completed',
    causes: { unexplained: '14.4' },
  },
  begins: {
    cost: '60.00',
    plan: 'BudgetBilling,2026-02-01,,60.00,Active',
    causes: { unexplained: '14.4' },
  },
  // What was billed is both the instalment and the bill without its tax and fees.
  alike: {
    rate: 'TAXED',
    cost: '74.40',
    plan: 'BudgetBilling,2025-06-01,,74.40,Active',
    causes: { budgetBilling: '11.82' },
  },
  gaps: {
    cost: '60.00',
    quarters: 2_400,
    plan: 'BudgetBilling,2025-06-01,,60.00,Active',
    causes: { missingIntervals: '-14.4', budgetBilling: '14.4' },
  },
  // 100 for two meters.
  first: {
    account: 'Atwo',
    cost: '40.00',
    plan: 'BudgetBilling,2025-06-01,,100.00,Active',
    causes: { budgetBilling: '34.4' },
  },
  second: { account: 'Atwo', cost: '60.00', causes: { budgetBilling: '14.4' } },
  arrears: {
    cost: '99.40',
    plan: 'PaymentArrangement,2025-06-01,,25.00,Active',
    causes: { paymentArrangement: '-25' },
  },
  paid: {
    cost: '90.00',
    plan: 'PaymentArrangement,2025-06-01,,25.00,Active',
    causes: { unexplained: '-15.6' },
  },
  invoiced: {
    rate: 'TAXED',
    cost: '83.60',
    invoice: [
      '2026-02-03,,1,Energy,Usage,74.40',
      '2026-02-03,,2,Fixed,Service,9.00',
      '2026-02-03,,3,Tax,Tax,0.20',
    ],
    causes: { taxAndFees: '2.62' },
  },
  // Its invoice does not come to what was billed.
  foreign: {
    rate: 'TAXED',
    cost: '83.60',
    invoice: ['2026-02-03,,1,Energy,Usage,74.40', '2026-02-03,,2,Fixed,Service,9.00'],
    causes: { unexplained: '2.62' },
  },
  late: {
    rate: 'TAXED',
    cost: '83.60',
    invoice: ['2026-03-05,,1,Energy,Usage,74.40', '2026-03-05,,2,Fixed,Service,9.20'],
    causes: { unexplained: '2.62' },
  },
}

const accountOf = (meter: string) => made[meter]?.account ?? `A${meter}`

t.test('payment plans and invoices explain what was billed', async (t) => {
  const all = Object.entries(made)
  await rig.register(
    ...all.map(([meterId, { rate = 'FLAT' }]) =>
      customerAt({
        clientId: `c${meterId}`,
        accountNumber: accountOf(meterId),
        meterId,
        rateCode: rate,
      }),
    ),
  )
  for (const [meter, one] of all) {
    const quantities = steady('0.25', one.quarters ?? quarters)
    await rig.read({ meter, account: accountOf(meter), from: january, quantities })
  }
  await rig.publish({
    Billing: all.map(
      ([meter, { cost }]) =>
        `${accountOf(meter)},S,${meter},2026-01-01,2026-01-31,744,744,${cost},,,`,
    ),
    PaymentPlans: all.flatMap(([meter, { plan }]) =>
      plan === undefined ? [] : [`${accountOf(meter)},${plan}`],
    ),
    Invoices: all.flatMap(([meter, { invoice = [] }]) =>
      invoice.map((line) => `${accountOf(meter)},I${meter},${line}`),
    ),
  })
  await rig.bill({ start: '2026-01-01' })
  const found = await rig.store.rows<{ meter: string; causes: object }>({
    sql: `SELECT meter_id AS meter, mapApply((k, v) -> (k, toString(v)), cost_causes) AS causes
      FROM bill_variance`,
  })
  t.equal(found.length, all.length)
  for (const { meter, causes } of found) t.same(causes, made[meter]?.causes, meter)
})

t.test('the causes still add up to the difference', async (t) => {
  const wrong = await rig.store.rows({
    sql: `SELECT meter_id FROM bill_variance
      WHERE arraySum(mapValues(cost_causes)) != cost_difference`,
  })
  t.same(wrong, [])
})

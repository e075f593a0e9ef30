import t from 'tap'
import { renderBill } from '../../../../infra/commands/explain.js'
import { readVariance } from '../../../../infra/operations/panels/variance.js'
import { type Explanation, explain } from '../../../../pipeline/bills/variance/explain.js'
import { customerAt } from '../../customers/registering.js'
import { billRig, steady } from '../rig.js'

const rig = await billRig(t)
/** January 2026 begins at 5:00 UTC in Detroit and has 2,976 quarter hours; here each has 0.25 kWh. */
const january = '2026-01-01T05:00:00Z'
const quarters = 2_976
const day = 96

await rig.publish({
  RateCodes: [
    'FLAT,Flat,Flat,,',
    'STEP,Steps up,Flat,,',
    'TIER,Tiered,Tiered,,',
    'TAXED,Taxed,Flat,,',
  ],
  RateFlat: [
    'FLAT,0.1,2025-01-01,,',
    'STEP,0.1,2025-01-01,2026-01-15,',
    'STEP,0.2,2026-01-16,,',
    'TAXED,0.1,2025-01-01,2026-01-15,',
    'TAXED,0.2,2026-01-16,,',
  ],
  RateTiers: ['TIER,1,10,0.1,2025-01-01,,,', 'TIER,2,,0.2,2025-01-01,,,'],
  RateFixed: [
    'TAXED,Service charge,Service,PerMonth,8.5,true,2025-01-01,',
    'TAXED,Tax,TaxPercent,Percent,4,false,2025-01-01,',
  ],
  BillingCycles: ['7,2026-01-01,2026-01-31'],
})

interface Made {
  readonly rate: string
  /** BillingStartDate to TaxAmount, as a file has them. */
  readonly billed: string
  readonly reads?: readonly string[]
  /** Of its lines the number, type, description, quantity, price and amount. */
  readonly lines?: readonly string[]
  readonly wanted: object
}

const whole = '2026-01-01,2026-01-31'
const alike = { quantity: 'match', quantityCauses: {}, cost: 'match', costCauses: {} }
const differs = { ...alike, cost: 'differs' }

/** A bill for each cause that was made to have it; what it must come to is in the remark. */
const made: Readonly<Record<string, Made>> = {
  // 744 x 0.10
  same: { rate: 'FLAT', billed: `${whole},744,744,74.40,`, wanted: alike },
  // 600 of 744 kWh are there.
  missing: {
    rate: 'FLAT',
    billed: `${whole},744,744,74.40,`,
    reads: steady('0.25', 2_400),
    wanted: {
      quantity: 'incomplete',
      quantityCauses: { missingIntervals: '-144' },
      cost: 'incomplete',
      costCauses: { missingIntervals: '-14.4' },
    },
  },
  // 32 days were billed.
  later: {
    rate: 'FLAT',
    billed: '2026-01-01,2026-02-01,768,768,76.80,',
    reads: steady('0.25', quarters + day),
    wanted: {
      quantity: 'differs',
      quantityCauses: { periodBoundary: '-24' },
      cost: 'differs',
      costCauses: { periodBoundary: '-2.4' },
    },
  },
  // 360 x 0.10 + 384 x 0.20 = 112.80; all of it at the old price is 74.40.
  old: {
    rate: 'STEP',
    billed: `${whole},744,744,74.40,`,
    wanted: { ...differs, costCauses: { rateVersion: '38.4' } },
  },
  // 310 x 0.10 + 434 x 0.20 = 117.80; with the tier of 30 days 30.00 + 88.80.
  tiers: {
    rate: 'TIER',
    billed: `${whole},744,744,118.80,`,
    wanted: { ...differs, costCauses: { tierDays: '-1' } },
  },
  // (36.00 + 76.80 + 8.50) x 1.04 = 126.15, of which 4.85 are tax.
  untaxed: {
    rate: 'TAXED',
    billed: `${whole},744,744,121.30,`,
    wanted: { ...differs, costCauses: { taxAndFees: '4.85' } },
  },
  taxed: {
    rate: 'TAXED',
    billed: `${whole},744,744,123.30,2.00`,
    wanted: { ...differs, costCauses: { taxAndFees: '2.85' } },
  },
  // Of 126.15 the charges are 13.35; 9.20 were billed.
  fees: {
    rate: 'TAXED',
    billed: `${whole},744,744,122.00,0.20`,
    lines: ['1,Energy,Usage,744,,112.80', '2,Fixed,Service,,,9.00', '3,Tax,Tax,,,0.20'],
    wanted: { ...differs, costCauses: { taxAndFees: '4.15' } },
  },
  // (74.40 + 8.50) x 1.04 = 86.22 at the old price, of which 3.32 are tax.
  both: {
    rate: 'TAXED',
    billed: `${whole},744,744,82.90,`,
    wanted: { ...differs, costCauses: { rateVersion: '39.93', taxAndFees: '3.32' } },
  },
  cent: {
    rate: 'FLAT',
    billed: `${whole},744,744,74.41,`,
    wanted: { ...alike, costCauses: { rounding: '-0.01' } },
  },
  // 744.2976 kWh; 0.03 is the price of what was left out.
  units: {
    rate: 'FLAT',
    billed: `${whole},744,744,74.40,`,
    reads: steady('0.2501', quarters),
    wanted: { ...alike, quantityCauses: { rounding: '0.2976' }, costCauses: { rounding: '0.03' } },
  },
  dear: {
    rate: 'FLAT',
    billed: `${whole},744,744,90,`,
    wanted: { ...differs, costCauses: { unexplained: '-15.6' } },
  },
  free: { rate: 'FLAT', billed: `${whole},744,744,,`, wanted: { ...alike, cost: 'notBilled' } },
  unknown: {
    rate: 'NONE',
    billed: `${whole},744,744,90,`,
    wanted: { ...alike, cost: 'notComputed' },
  },
}

t.test('each bill is compared with the billed one, and the causes are distinguished', async (t) => {
  await rig.register(
    ...Object.entries(made).map(([meterId, { rate }]) =>
      customerAt({
        clientId: `c${meterId}`,
        accountNumber: `A${meterId}`,
        meterId,
        rateCode: rate,
      }),
    ),
  )
  for (const [meter, { reads }] of Object.entries(made)) {
    await rig.read({ meter, from: january, quantities: reads ?? steady('0.25', quarters) })
  }
  await rig.publish({
    Billing: Object.entries(made).map(([meter, { billed }]) => `A${meter},S,${meter},${billed},`),
    BillingLines: Object.entries(made).flatMap(([meter, { lines = [] }]) =>
      lines.map((line) => `A${meter},${meter},2026-01-01,${line}`),
    ),
  })
  const { variance } = await rig.bill({ start: '2026-01-01' })
  const found = await rig.store.rows<{ meter: string }>({
    sql: `SELECT meter_id AS meter, quantity_status AS quantity, cost_status AS cost,
        mapApply((k, v) -> (k, toString(v)), quantity_causes) AS quantityCauses,
        mapApply((k, v) -> (k, toString(v)), cost_causes) AS costCauses
      FROM bill_variance`,
  })
  for (const [name, { wanted }] of Object.entries(made)) {
    const { meter: _, ...own } = found.find(({ meter }) => meter === name) ?? { meter: name }
    t.same(own, wanted, name)
  }
  t.match(variance, {
    billed: 14,
    quantity: { match: 12, differs: 1, incomplete: 1 },
    cost: { match: 3, differs: 8, incomplete: 1, notBilled: 1, notComputed: 1 },
  })
  t.match(variance?.causes.slice(0, 2), [
    { cause: 'rateVersion', bills: 2, dollars: '78.33' },
    { cause: 'unexplained', bills: 1, dollars: '-15.6' },
  ])
})

t.test('the causes add up to the difference', async (t) => {
  const wrong = await rig.store.rows({
    sql: `SELECT meter_id FROM bill_variance
      WHERE arraySum(mapValues(quantity_causes)) != quantity_difference
        OR (cost_difference IS NOT NULL AND arraySum(mapValues(cost_causes)) != cost_difference)`,
  })
  t.same(wrong, [])
})

t.test('one bill is explained for a person', async (t) => {
  const [bill] = await explain(rig.store, { account: 'Aboth', start: '2026-01-01' })
  t.same(renderBill(bill as Explanation).split('\n'), [
    'account Aboth, meter both, cycle 7',
    '2026-01-01 to 2026-01-31, 31 days, rate TAXED',
    '744 kWh, 2,976 of 2,976 intervals (100.0 %)',
    '',
    'line            part        from        to          kWh  price  dollars',
    '──────────────  ──────────  ──────────  ──────────  ───  ─────  ───────',
    'Flat            Energy      2026-01-01  2026-01-15  360    0.1    36.00',
    'Flat            Energy      2026-01-16  2026-01-31  384    0.2    76.80',
    'Service charge  Service     2026-01-01  2026-01-31                 8.50',
    'Tax             TaxPercent  2026-01-01  2026-01-31         4 %     4.85',
    '',
    'computed 126.15',
    'billed 82.90, 744 kWh, 2026-01-01 to 2026-01-31',
    '',
    'quantity match, computed minus billed 0 kWh',
    'cost differs, computed minus billed 43.25',
    '  rateVersion 39.93',
    '  taxAndFees 3.32',
  ])
  await t.rejects(
    explain(rig.store, { account: 'Aboth', start: '2026-01-02' }),
    /does not have a bill that begins on 2026-01-02; its bills begin on 2026-01-01/,
  )
})

t.test('lines of a period count once, however many documents it has', async (t) => {
  const at = { clientId: 'twice', accountNumber: 'Atwice', meterId: 'twice', rateCode: 'TAXED' }
  await rig.register(customerAt(at))
  await rig.read({ meter: 'twice', from: january, quantities: steady('0.25', quarters) })
  const document = (rest: string) => `Atwice,S,twice,${whole},${rest}`
  await rig.publish({
    Billing: [document('744,744,117.00,0.10,,D1'), document('0,0,5.00,0.10,,D2')],
    BillingLines: (made['fees']?.lines ?? []).map((line) => `Atwice,twice,2026-01-01,${line}`),
  })
  await rig.bill({ start: '2026-01-01' })
  const found = await rig.store.rows({
    sql: `SELECT toString(cost_billed) AS billed, mapApply((k, v) -> (k, toString(v)), cost_causes) AS causes
      FROM bill_variance WHERE meter_id = 'twice'`,
  })
  t.same(found, [{ billed: '122', causes: { taxAndFees: '4.15' } }])
})

t.test('operations shows the latest run, not one as of an earlier instant', async (t) => {
  const shown = await readVariance(rig)
  await rig.bill({ start: '2026-01-01', asOf: new Date('2026-02-02') })
  t.match(shown, { cycle: '7', from: '2026-01-01' })
  t.same(await readVariance(rig), shown)
})

t.test('a run leaves no table of its own behind', async (t) => {
  const left = await rig.store.rows({
    sql: `SELECT name FROM system.tables WHERE match(name, '^bill_[a-z]+_2')`,
  })
  t.same(left, [])
})

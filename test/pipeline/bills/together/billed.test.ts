import t from 'tap'
import { bill, billTogether } from '../../../../pipeline/bills/run.js'
import { customerAt } from '../../customers/registering.js'
import { billRig, steady } from '../rig.js'
import { seenOf } from './seen.js'

/** What was billed to one account in several cycles is explained in each by itself. */
const rig = await billRig(t)
const cycles = ['7', '8']
const [first, last] = ['2026-01-01', '2026-01-31']
const january = '2026-01-01T05:00:00Z'

await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,', 'TAXED,Taxed,Flat,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,', 'TAXED,0.1,2025-01-01,,'],
  RateFixed: ['TAXED,Service charge,Service,PerMonth,8.5,true,2025-01-01,'],
  BillingCycles: cycles.map((cycle) => `${cycle},${first},${last}`),
})

/** A meter of an account in each of two cycles, 744 kWh each. */
async function registerPair(accountNumber: string, rateCode: string, cost: string): Promise<void> {
  const clientId = `c${accountNumber}`
  const meters = cycles.map((billingCycleId) => {
    const meterId = `${accountNumber}-${billingCycleId}`
    const [meter] = customerAt({ clientId, accountNumber, meterId, rateCode }).meters
    return { ...(meter as NonNullable<typeof meter>), billingCycleId }
  })
  await rig.register({ clientId, acctStatus: 'A', meters })
  await rig.readAll(
    meters.map(({ meterId: meter }) => ({
      meter,
      account: accountNumber,
      from: january,
      quantities: steady('0.25', 2_976),
    })),
  )
  await rig.publish({
    Billing: meters.map(
      ({ meterId }) => `${accountNumber},S,${meterId},${first},${last},744,744,${cost},,`,
    ),
  })
}

/** The causes of each bill, computed apart and together. */
async function causesOf(account: string) {
  const found = () =>
    rig.store.rows<{ meter: string }>({
      sql: `SELECT meter_id AS meter, mapApply((k, v) -> (k, toString(v)), cost_causes) AS causes
        FROM bill_variance WHERE account_number = '${account}' ORDER BY meter`,
    })
  for (const cycleId of cycles) await bill(rig.context(), { cycleId, start: first })
  const apart = await found()
  const wanted = await seenOf(rig.store, `account_number = '${account}'`)
  const periods = cycles.map((cycleId) => ({ cycleId, first, last, fileId: 'f' }))
  await billTogether(rig.context(), periods)
  return {
    apart,
    together: await found(),
    wanted,
    seen: await seenOf(rig.store, `account_number = '${account}'`),
  }
}

t.test('an instalment is divided among the bills of one cycle', async (t) => {
  await registerPair('B', 'FLAT', '60.00')
  await rig.publish({ PaymentPlans: ['B,BudgetBilling,2025-06-01,,60.00,Active'] })
  const { apart, together, wanted, seen } = await causesOf('B')
  t.match(
    apart,
    cycles.map(() => ({ causes: { budgetBilling: '14.4' } })),
  )
  t.same(together, apart)
  t.strictSame(seen, wanted)
})

t.test('an invoice explains the only bill of a cycle', async (t) => {
  await registerPair('I', 'TAXED', '85.90')
  await rig.publish({
    Invoices: [
      `I,N1,${last},${last},1,Energy,Energy,74.40`,
      `I,N1,${last},${last},2,Fixed,Service,11.50`,
    ],
  })
  const { apart, together, wanted, seen } = await causesOf('I')
  t.match(
    apart,
    cycles.map(() => ({ causes: { taxAndFees: '-3' } })),
  )
  t.same(together, apart)
  t.strictSame(seen, wanted)
})

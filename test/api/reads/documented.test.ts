import { t } from 'tap'
import { bill } from '../../../pipeline/bills/run.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { billRig, steady } from '../../pipeline/bills/rig.js'
import { registeringAt } from '../../pipeline/customers/registering.js'
import { createRig, people } from '../rig.js'
import { createDocumented } from './documented.js'

const gateway = await createRig(t, { profile: { reads: { secondsMax: 60, waitMsMax: 60_000 } } })
const rig = await billRig(t, gateway.store)
const token = await gateway.token(people.active)
const headers = { Authorization: `Bearer ${token}` }
const account = 'ACCOUNT-1'

/** Meters by what becomes of their bills, with rate, cycle and days of reads. */
const meters = {
  MATCH: { rateCode: 'FLAT', cycle: '7', days: 31 },
  DIFFERS: { rateCode: 'FLAT', cycle: '7', days: 31 },
  ALONE: { rateCode: 'TOU', cycle: '7', days: 31 },
  INCOMPLETE: { rateCode: 'FLAT', cycle: '7', days: 25 },
  SPARSE: { rateCode: 'FLAT', cycle: '7', days: 10 },
  SILENT: { rateCode: 'FLAT', cycle: '7', days: 0 },
  UNRATED: { rateCode: 'NOWHERE', cycle: '7', days: 31 },
  GAS: { rateCode: 'GAS', cycle: '7', days: 31 },
  OPEN: { rateCode: 'FLAT', cycle: '8', days: 20 },
} as const
type Meter = keyof typeof meters
const names = Object.keys(meters) as readonly Meter[]

t.before(async () => {
  await rig.publish({
    RateCodes: ['FLAT,Flat,Flat,,', 'TOU,TOU,TOU,,', 'GAS,Gas,Flat,Gas,ccf'],
    RateFlat: ['FLAT,0.1,2025-01-01,,', 'GAS,0.9,2025-01-01,,'],
    RateTou: [
      'TOU,Peak,1,14,19,--01-01,--12-31,All,',
      'TOU,Off-Peak,0.1,19,14,--01-01,--12-31,All,',
    ],
    RateFixed: ['FLAT,Service charge,Service,PerMonth,8.5,true,2025-01-01,'],
    BillingCycles: ['7,2026-01-01,2026-01-31', '8,2026-01-01,2026-01-31'],
  })
  const all = names.map((meterId) => ({
    ...{ accountNumber: account, externalSiteId: 'S', meterId, isAMI: true },
    meterType: meterId === 'GAS' ? ('Gas' as const) : ('Electric' as const),
    unitOfMeasure: meterId === 'GAS' ? 'ccf' : 'kWh',
    ...{ rateCode: meters[meterId].rateCode, billingCycleId: meters[meterId].cycle },
  }))
  await register(
    registeringAt(rig.store, () => new Date('2025-12-01T12:00:00Z')),
    [{ clientId: people.active, acctStatus: 'A', meters: all }],
  )
  for (const meter of names) {
    const { days } = meters[meter]
    const commodity = meter === 'GAS' ? ('Gas' as const) : ('Electric' as const)
    const [seconds, quantities] =
      meter === 'GAS' ? [86_400, steady('2.5', days)] : [3_600, steady('1.25', 24 * days)]
    if (days === 0) continue
    await rig.read({ meter, account, from: '2026-01-01T05:00:00Z', seconds, quantities, commodity })
  }
  await rig.publish({
    Billing: [
      `${account},S,MATCH,2026-01-01,2026-01-31,930,930,101.50,,`,
      `${account},S,DIFFERS,2026-01-01,2026-01-31,900,900,95.00,,`,
      `${account},S,UNRATED,2026-01-01,2026-01-31,930,930,99.00,,`,
    ],
  })
  await rig.bill({ start: '2026-01-01' }, { presentShareMin: 0.6 })
  const now = () => new Date('2026-01-21T17:00:00Z')
  await bill({ ...rig.context(), now }, { cycleId: '8', start: '2026-01-01' })
})

const get = async (path: string) => {
  const answer = await fetch(`${gateway.url}/v1/${path}`, { headers })
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

async function documentedOf(path: string) {
  const document = await get('openapi.json')
  const { content } = document.paths[`/gateway/${path}`].get.responses[200]
  return createDocumented(document, content['application/json'].schema)
}

const january = 'from=2026-01-01&to=2026-01-31'

t.test('bills have every documented field and no other, in each state', async (t) => {
  const documented = await documentedOf('bills')
  const answer = await get(`gateway/bills?${january}`)
  t.same(documented.judge(answer), [])
  t.same(documented.unseen(), [])
  const bills: readonly Readonly<Record<string, unknown>>[] = answer.bills
  const shapeOf = (meter: Meter) => {
    const one = bills.find(({ meterId }) => meterId === meter) ?? {}
    return [
      'status',
      'projected',
      'computed',
      'billed',
      'quantityBilled',
      'variance',
      'varianceStatus',
    ].map((name) => one[name])
  }
  const none = [null, null, null, null]
  t.same(shapeOf('MATCH'), ['computed', null, 101.5, 101.5, 930, 0, 'match'], 'billed')
  t.same(shapeOf('DIFFERS'), ['computed', null, 101.5, 95, 900, 6.5, 'differs'], 'a variance')
  t.match(shapeOf('ALONE'), ['computed', null, Number, ...none], 'computed alone')
  t.match(shapeOf('OPEN'), ['projected', 101.5, null, ...none], 'projected')
  t.match(shapeOf('INCOMPLETE'), ['incomplete', null, Number, ...none])
  for (const [meter, status] of [
    ['SPARSE', 'sparse'],
    ['SILENT', 'noUsage'],
  ] as const) {
    t.same(shapeOf(meter), [status, null, null, ...none])
  }
  t.match(shapeOf('UNRATED'), ['noRate', null, null, 99, 930, null, 'notComputed'])
  const lacking = bills.filter(({ status }) => status !== 'computed')
  t.ok(lacking.every(({ reason }) => typeof reason === 'string'))
})

t.test('usage has every documented field and no other, of all these bills', async (t) => {
  const documented = await documentedOf('usage')
  const statuses = new Set<string>()
  for (const meterId of names) {
    for (const granularity of ['interval', 'hour', 'day', 'month', 'billingPeriod']) {
      for (const since of granularity === 'day' ? ['', '&since=0'] : ['']) {
        const query = `meterId=${meterId}&from=2025-12-30&to=2026-02-02&granularity=${granularity}${since}`
        const answer = await get(`gateway/usage?${query}`)
        t.same(documented.judge(answer), [], query)
        for (const { costStatus } of answer.points) statuses.add(costStatus)
      }
    }
  }
  t.same(documented.unseen(), [])
  t.same([...statuses].sort(), [
    ...['computed', 'incomplete', 'noBill', 'noRate', 'noUsage', 'projected', 'sparse'],
  ])
})

t.test('an answer that is not as documented is seen', async (t) => {
  const documented = await documentedOf('bills')
  const [bill] = (await get(`gateway/bills?${january}`)).bills
  const { meterId: _, ...lacking } = bill
  const judge = (one: object) => documented.judge({ cursor: null, bills: [one] })
  t.same(judge(bill), [])
  t.same(judge(lacking), ['.bills[].meterId is missing'])
  t.same(judge({ ...bill, color: 1 }), ['.bills[].color is not documented'])
  t.same(judge({ ...bill, quantity: '1' }), ['.bills[].quantity is string, not number'])
})

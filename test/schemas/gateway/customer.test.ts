import { test } from 'tap'
import { z } from 'zod'
import { customerSchema, judgeCustomer } from '../../../schemas/gateway/customer.js'
import { sampleCustomer, sampleMeter, sampleSite, without } from './sample-customer.js'

const full = { required: 'full', permanentIds: true } as const
const least = { required: 'launchMinimum', permanentIds: false } as const
const site = ['customerSites', 0] as const
const meter = [...site, 'meters', 0] as const
const fieldOf = (path: readonly (string | number)[]) =>
  path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .slice(1)

test('a whole record passes through as it is, obsolete fields too', async (t) => {
  const record = sampleCustomer()
  t.strictSame(judgeCustomer(record, full).customer, record)
})

test('what the specification does not know does not pass', async (t) => {
  const { customer } = judgeCustomer(sampleCustomer({ customer: { ssn: 'canary' } }), full)
  t.notMatch(JSON.stringify(customer), /ssn|canary/)
})

test('each required field is asked for by its name, in full and for launch', async (t) => {
  const always = [
    ['clientId'],
    ['customerSites'],
    [...site, 'externalSiteId'],
    [...site, 'postalCode'],
    [...site, 'meters'],
    ...['meterId', 'meterType', 'isAMI', 'rateCode', 'billingCycleId'].map((of) => [...meter, of]),
  ]
  const inFull = ['address1', 'city', 'state'].map((name) => [...site, name])
  for (const path of [...always, ...inFull]) {
    const { problems } = judgeCustomer(without(sampleCustomer(), path), full)
    t.same(problems, [{ field: fieldOf(path), reason: 'is missing' }])
  }
  for (const path of always) {
    const { problems } = judgeCustomer(without(sampleCustomer(), path), least)
    t.same(problems, [{ field: fieldOf(path), reason: 'is missing' }])
  }
  for (const path of [...inFull, [...meter, 'isPrimary'], [...meter, 'accountNumber']]) {
    t.ok(judgeCustomer(without(sampleCustomer(), path), least).customer, fieldOf(path))
  }
})

test('an account number is required where only it shows a move', async (t) => {
  const record = without(sampleCustomer(), [...meter, 'accountNumber'])
  t.same(judgeCustomer(record, full).problems, [
    { field: 'customerSites[0].meters[0].accountNumber', reason: 'is missing' },
  ])
  t.ok(judgeCustomer(record, { ...full, permanentIds: false }).customer)
})

test('what is alone is primary; among several it must be said', async (t) => {
  const alone = without(without(sampleCustomer(), [...site, 'isPrimary']), [...meter, 'isPrimary'])
  const { customer } = judgeCustomer(alone, full)
  t.equal(customer?.customerSites[0]?.isPrimary, true)
  t.equal(customer?.customerSites[0]?.meters[0]?.isPrimary, true)
  const wrong = judgeCustomer(sampleCustomer({ site: { isPrimary: false } }), full)
  t.equal(wrong.customer?.customerSites[0]?.isPrimary, true, 'always, when it is the only one')
  const two = sampleCustomer({
    customer: {
      customerSites: [
        { ...sampleSite(), meters: [sampleMeter(), sampleMeter({ isPrimary: undefined })] },
        { ...sampleSite(), isPrimary: undefined, meters: [sampleMeter()] },
      ],
    },
  })
  t.same(
    judgeCustomer(two, full).problems?.map(({ field }) => field),
    ['customerSites[0].meters[1].isPrimary', 'customerSites[1].isPrimary'],
  )
})

test('null is absent where the specification knows no null', async (t) => {
  const changes = { customer: { AcctStatus: null }, meter: { unitOfMeasure: null, PANID: null } }
  const { customer } = judgeCustomer(sampleCustomer(changes), full)
  t.equal(customer?.lastName, null, 'a name may be null and stays so')
  t.notOk('AcctStatus' in (customer ?? {}))
  t.notOk('PANID' in (customer?.customerSites[0]?.meters[0] ?? {}))
})

test('a billing cycle keeps its type', async (t) => {
  for (const billingCycleId of [7, '07', 'MRU-12']) {
    const { customer } = judgeCustomer(sampleCustomer({ meter: { billingCycleId } }), full)
    t.strictSame(customer?.customerSites[0]?.meters[0]?.billingCycleId, billingCycleId)
  }
})

test('values that cannot be are refused by field, without being shown', async (t) => {
  const bad: readonly (readonly ['customer' | 'site' | 'meter', string, unknown])[] = [
    ['customer', 'clientId', ''],
    ['customer', 'clientId', 7_000_000_001],
    ['customer', 'clientId', ' canary'],
    ['customer', 'clientId', 'x'.repeat(65)],
    ['customer', 'customerSites', []],
    ['site', 'state', 'Canary'],
    ['site', 'state', 'M1'],
    ['site', 'postalCode', '48201-1234'],
    ['site', 'postalCode', '4820'],
    ['site', 'postalCode', 'K1A0B6'],
    ['site', 'address1', ' '],
    ['site', 'isPrimary', 'canary'],
    ['meter', 'meterType', 'Canary'],
    ['meter', 'isAMI', 1],
    ['meter', 'billingCycleId', 1.5],
    ['meter', 'billingCycleId', true],
    ['meter', 'unitOfMeasure', 'ccf'],
    ['meter', 'unitOfMeasure', 'therm'],
  ]
  for (const [of, name, value] of bad) {
    const aside = of === 'site' && name === 'isPrimary'
    const record = sampleCustomer({ [of]: { [name]: value } })
    const sites = record['customerSites'] as unknown[]
    if (aside) record['customerSites'] = [...sites, ...sites]
    const { problems } = judgeCustomer(record, full)
    t.ok(problems?.[0]?.field.endsWith(name), `${name} ${JSON.stringify(value)}`)
    t.notMatch(JSON.stringify(problems), /canary/i)
  }
  for (const postalCode of ['48201', 'K1A 0B6']) {
    t.ok(judgeCustomer(sampleCustomer({ site: { postalCode } }), full).customer, postalCode)
  }
  for (const unitOfMeasure of ['ccf', 'cm', 'therm']) {
    const meter = { meterType: 'Gas', unitOfMeasure }
    t.ok(judgeCustomer(sampleCustomer({ meter }), full).customer, unitOfMeasure)
  }
})

test('anything other than a record is refused', async (t) => {
  for (const value of [undefined, null, 5, 'text', [], [sampleCustomer()], {}]) {
    t.ok((judgeCustomer(value, full).problems?.length ?? 0) > 0)
  }
})

test('the schema describes itself as JSON Schema, with the names of the specification', async (t) => {
  const schema = JSON.stringify(z.toJSONSchema(customerSchema))
  for (const name of ['Customer', 'CustomerSite', 'Meter', 'AcctStatus', 'isAMI', 'PANID']) {
    t.match(schema, `"${name}"`)
  }
})

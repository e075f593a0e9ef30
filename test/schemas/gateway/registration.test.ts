import { test } from 'tap'
import { judgeCustomer } from '../../../schemas/gateway/customer.js'
import { registrationSchema, toRegistration } from '../../../schemas/gateway/registration.js'
import { sampleCustomer } from './sample-customer.js'

const rules = { required: 'full', permanentIds: false } as const
const strip = (record: unknown) => {
  const { customer } = judgeCustomer(record, rules)
  if (customer === undefined) throw new Error('the sample is not a customer')
  return toRegistration(customer)
}

test('identifiers and codes are kept, names and addresses are not', async (t) => {
  const registration = strip(sampleCustomer())
  t.strictSame(registration, {
    clientId: '7000000001',
    acctStatus: 'A',
    meters: [
      {
        accountNumber: '910020000001',
        externalSiteId: '5113000001',
        meterId: '55000001',
        meterType: 'Electric',
        unitOfMeasure: 'kWh',
        rateCode: 'RES-TOU',
        billingCycleId: '7',
        isAMI: true,
      },
    ],
  })
  t.notMatch(JSON.stringify(registration), /Ada|Canary|Detroit|48201/)
  t.strictSame(registrationSchema.parse(registration), registration)
})

test('what is absent is empty, and a cycle is a text', async (t) => {
  const changes = { accountNumber: undefined, unitOfMeasure: null, billingCycleId: '07' }
  const record = sampleCustomer({ customer: { AcctStatus: null }, meter: changes })
  const registration = strip(record)
  t.match(registration, { acctStatus: '' })
  t.match(registration.meters, [{ accountNumber: '', unitOfMeasure: '', billingCycleId: '07' }])
  t.ok(registrationSchema.safeParse(registration).success)
})

test('more than that does not get into a job', async (t) => {
  const more = { ...strip(sampleCustomer()), firstName: 'Ada' }
  t.notOk(registrationSchema.safeParse(more).success)
})

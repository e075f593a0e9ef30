import { deepEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { judgeCustomer } from '../../../schemas/gateway/customer.js'
import { normaliseCustomer } from '../../../schemas/gateway/normalise.js'
import { sampled } from '../sampled.js'
import { sampleCustomer, sampleMeter, sampleSite } from './sample-customer.js'

const rules = { required: 'full', permanentIds: true } as const
const siteOf = (record: unknown) =>
  judgeCustomer(normaliseCustomer(record).record, rules).customer?.customerSites[0]

test('postal codes and states are written as the specification writes them', async (t) => {
  const postal: readonly (readonly [sent: unknown, meant: string])[] = [
    [' 48201 ', '48201'],
    ['48201-1234', '48201'],
    ['482011234', '48201'],
    ['48201 1234', '48201'],
    [2139, '02139'],
    [48201, '48201'],
    [21391234, '02139'],
    [482011234, '48201'],
    ['n9a4j8', 'N9A 4J8'],
    ['N9A-4J8', 'N9A 4J8'],
    ['N9A  4j8', 'N9A 4J8'],
  ]
  for (const [postalCode, meant] of postal) {
    t.equal(siteOf(sampleCustomer({ site: { postalCode } }))?.postalCode, meant, `${postalCode}`)
  }
  const states = [
    ['Michigan', 'MI'],
    ['NEW  YORK', 'NY'],
    ['Québec', 'QC'],
    ['on', 'on'],
    [' MI ', 'MI'],
  ] as const
  for (const [state, meant] of states) {
    t.equal(siteOf(sampleCustomer({ site: { state } }))?.state, meant, state)
  }
  for (const site of [{ postalCode: '4820' }, { postalCode: 'N9A4J' }, { state: 'Atlantis' }]) {
    t.equal(siteOf(sampleCustomer({ site })), undefined, 'what is not understood stays wrong')
  }
})

test('blanks go, and numbers become text where a text is meant', async (t) => {
  const { record } = normaliseCustomer(
    sampleCustomer({
      customer: { clientId: 7_000_000_001, AcctStatus: 'A  ', firstName: '  ', businessName: ' ' },
      site: { externalSiteId: 5_113_000_001, address1: 1 },
      meter: { meterId: ' 55 ', accountNumber: 2 ** 53, unitOfMeasure: ' ', billingCycleId: 7 },
    }),
  )
  t.match(record, {
    clientId: '7000000001',
    AcctStatus: 'A',
    firstName: '',
    customerSites: [
      {
        externalSiteId: '5113000001',
        address1: '1',
        meters: [{ meterId: '55', accountNumber: 2 ** 53, billingCycleId: 7 }],
      },
    ],
  })
  t.notMatch(JSON.stringify(record), 'unitOfMeasure', 'a blank is an absent value')
  t.notMatch(JSON.stringify(record), 'businessName', 'an empty one would mark a business')
  const { record: other } = normaliseCustomer(sampleCustomer({ customer: { AcctStatus: ' ' } }))
  t.notMatch(JSON.stringify(other), 'AcctStatus', 'it is not a state of the specification')
})

test('meters of other commodities and sites without a meter are omitted and counted', async (t) => {
  const record = sampleCustomer({
    customer: {
      customerSites: [
        {
          ...sampleSite(),
          meters: [sampleMeter(), { meterType: 'Water' }, { meterType: 'sewer' }],
        },
        { ...sampleSite(), externalSiteId: ' S-W', meters: [{ meterType: 'Water' }] },
        { ...sampleSite(), externalSiteId: 'S-0', meters: null },
        sampleSite(),
      ],
    },
  })
  const { omitted, partialSites, hasMeter, record: normalised } = normaliseCustomer(record)
  t.same(omitted, { meters: 3, sites: 3 })
  t.same(partialSites, [sampleSite()['externalSiteId'], 'S-W', 'S-0'])
  t.equal(hasMeter, true)
  const { customer } = judgeCustomer(normalised, rules)
  t.equal(customer?.customerSites[0]?.isPrimary, true)
  t.equal(customer?.customerSites.length, 1)
})

test('a meter that is alone because others were omitted is primary', async (t) => {
  const water = { meterType: 'Water', isPrimary: true }
  const primary = (meters: readonly unknown[]) => {
    const record = sampleCustomer({ customer: { customerSites: [{ ...sampleSite(), meters }] } })
    return siteOf(record)?.meters.map(({ isPrimary }) => isPrimary)
  }
  const second = sampleMeter({ isPrimary: false })
  t.same(primary([water, second]), [true])
  t.same(primary([second]), [false], 'nothing was omitted: the CIS decides')
  t.same(primary([water, second, sampleMeter()]), [false, true])
})

test('what was left out at a site without a readable id may be anywhere', async (t) => {
  for (const externalSiteId of [undefined, '', 2 ** 53, 'S\u200b1', {}]) {
    const other = { externalSiteId, meters: [{ meterType: 'Water' }] }
    const customerSites = [sampleSite(), { externalSiteId: 'S-0', meters: [] }, other]
    t.equal(normaliseCustomer({ clientId: 'C-1', customerSites }).partialSites, 'all')
  }
})

test('so may what was left out at more sites than a registration lists', async (t) => {
  const others = Array.from({ length: 10_001 }, (_, at) => ({
    externalSiteId: `S-${at}`,
    meters: [],
  }))
  const leftOut = (count: number) => {
    const customerSites = [sampleSite(), ...others.slice(0, count)]
    return normaliseCustomer({ clientId: 'C-1', customerSites }).partialSites
  }
  t.equal(leftOut(10_000).length, 10_000)
  t.equal(leftOut(10_001), 'all')
})

test('a type that may be electric or gas is never omitted', async (t) => {
  for (const meterType of ['E', 'ELEC', 'G', 'NatGas', 'EL01', 1, '', undefined]) {
    const record = sampleCustomer({ meter: { meterType } })
    const { omitted, hasMeter } = normaliseCustomer(record)
    t.match({ ...omitted, hasMeter }, { meters: 0, sites: 0, hasMeter: true }, `${meterType}`)
    t.equal(siteOf(record), undefined)
  }
  t.equal(siteOf(sampleCustomer({ meter: { meterType: 'ELECTRIC ' } }))?.meters.length, 1)
})

test('where no site has a list of meters, the field is missing', async (t) => {
  const customerSites = [sampleSite(), { ...sampleSite(), externalSiteId: '5113000002' }]
  const { record } = normaliseCustomer(sampleCustomer({ customer: { customerSites } }))
  t.match(judgeCustomer(record, rules).problems, [
    { field: 'customerSites[0].meters', reason: 'is missing' },
    { field: 'customerSites[1].meters' },
  ])
})

const blank = fc.constantFrom('', ' ', '  ', '\t')
const noise = (value: string) => fc.tuple(blank, blank).map(([a, b]) => a + value + b)
const digits = (length: number) =>
  fc.array(fc.constantFrom(...'123456789'), { minLength: length, maxLength: length })
const zip = digits(5).map((all) => all.join(''))
const postalNoise = zip.chain((meant) =>
  fc
    .oneof(
      noise(meant),
      digits(4).map((more) => `${meant}-${more.join('')}`),
      fc.constant(Number(meant)),
    )
    .map((sent) => ({ meant, sent })),
)
const other = fc.constantFrom('Water', 'Sewer', 'STEAM', 'Water ', 'Irrigation', 'Waste-water')

test('noise around a good record never changes what it says', async (t) => {
  const noisy = fc.record({
    postal: postalNoise,
    meterId: fc.tuple(digits(8), fc.boolean()).chain(([all, isNumber]) => {
      const meant = all.join('')
      const sent = isNumber ? fc.constant<unknown>(Number(meant)) : noise(meant)
      return sent.map((value) => ({ meant, sent: value }))
    }),
    rateCode: noise('RES-TOU'),
    state: fc.constantFrom('Michigan', 'MICHIGAN', 'michigan', ' MI'),
    others: fc.array(other, { maxLength: 4 }),
    emptySites: fc.nat(3),
  })
  const holds = fc.property(noisy, ({ postal, meterId, rateCode, state, others, emptySites }) => {
    const meters = [
      ...others.map((meterType) => ({ meterType })),
      sampleMeter({ meterId: meterId.sent, rateCode }),
    ]
    const site = { ...sampleSite(), postalCode: postal.sent, state, meters }
    const empty = Array.from({ length: emptySites }, () => ({ ...sampleSite(), meters: [] }))
    const record = sampleCustomer({ customer: { customerSites: [...empty, site] } })
    const { record: normalised, omitted } = normaliseCustomer(record)
    const wanted = sampleCustomer({
      site: { postalCode: postal.meant },
      meter: { meterId: meterId.meant },
    })
    deepEqual(judgeCustomer(normalised, rules).customer, wanted)
    deepEqual(omitted, { meters: others.length, sites: emptySites })
  })
  sampled(t, holds)
})

test('anything at all is borne, and a second time changes nothing', async (t) => {
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.record({ customerSites: fc.array(fc.record({ meters: fc.jsonValue() })) }),
    fc.record({
      customerSites: fc.array(
        fc.dictionary(
          fc.constantFrom('postalCode', 'state', 'externalSiteId', 'meters', '__proto__'),
          fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(fc.string(), fc.jsonValue()))),
        ),
      ),
    }),
  )
  const holds = fc.property(anything, (value) => {
    const once = normaliseCustomer(value)
    const again = normaliseCustomer(once.record)
    deepEqual(again.record, once.record)
    deepEqual(again.omitted, { meters: 0, sites: 0 })
  })
  sampled(t, holds, 300)
})

test('a site or a meter that comes twice is one, and what differs stays', async (t) => {
  const [meter, other] = [sampleMeter(), sampleMeter({ accountNumber: 'another' })]
  const site = { ...sampleSite(), meters: [meter, { ...meter, rateCode: ' RES-TOU ' }] }
  const customerSites = [site, site, { ...sampleSite(), meters: [other] }]
  const { record, omitted } = normaliseCustomer({ ...sampleCustomer(), customerSites })
  const { customer } = judgeCustomer(record, rules)
  t.same(
    customer?.customerSites.map(({ meters }) => meters),
    [[meter], [other]],
  )
  t.same(omitted, { meters: 0, sites: 0 }, 'nothing is left out')
})

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { t } from 'tap'
import { createRestCis } from '../../../api/cis/rest.js'
import { createOfficeServer } from '../../../infra/demo/back-office/server.js'
import { cisSettings, type RestCisSettings } from '../../../schemas/settings/gateway-cis.js'
import { post } from '../rig.js'
import { conform, customer } from './conformance.js'

const settingsOf = (more: object) =>
  cisSettings.parse({ kind: 'rest', timeoutMs: 500, ...more }) as RestCisSettings

const noSecret = () => ''

/** A system with words of its own for everything. */
const partnerOf = (id: string, more: object = {}) => ({
  partner: { id, name: { first: 'Ada', last: 'Haas' }, company: null, state: 'A' },
  ...more,
  premises: [
    {
      number: 'S-1',
      main: 'Y',
      'owner.first': 'Ada',
      owner: { last: 'Haas' },
      street: '1 Oak Street',
      town: 'Detroit',
      region: 'MI',
      zip: '48201',
      devices: [
        {
          contract: 'A-1',
          serial: 'M-1',
          sort: 'E',
          unit: 'KWH',
          main: 'Y',
          smart: 'Y',
          tariff: 'RES',
          portion: 7,
        },
      ],
    },
  ],
})

const fields = {
  customer: {
    clientId: 'partner.id',
    firstName: 'partner.name.first',
    lastName: 'partner.name.last',
    businessName: 'partner.company',
    AcctStatus: 'partner.state',
    customerSites: 'premises',
    locked: 'security.locked',
    attemptsRemaining: 'security.left',
  },
  site: {
    externalSiteId: 'number',
    isPrimary: 'main',
    firstName: 'owner.first',
    lastName: 'owner.last',
    address1: 'street',
    city: 'town',
    state: 'region',
    postalCode: 'zip',
    meters: 'devices',
  },
  meter: {
    accountNumber: 'contract',
    meterId: 'serial',
    meterType: 'sort',
    unitOfMeasure: 'unit',
    isPrimary: 'main',
    isAMI: 'smart',
    rateCode: 'tariff',
    billingCycleId: 'portion',
  },
}
const values = {
  meterType: { E: 'Electric', G: 'Gas' },
  unitOfMeasure: { KWH: 'kWh' },
  isPrimary: { Y: true, N: false },
  isAMI: { Y: true, N: false },
}

t.test('a CIS over REST with names of its own', async (t) => {
  const bad = partnerOf('C-bad')
  for (const premise of bad.premises) Object.assign(premise, { zip: undefined })
  const people: Readonly<Record<string, object>> = {
    '/partners/C-1': partnerOf('C-1'),
    '/partners/C-locked': partnerOf('C-locked', { security: { locked: true, left: 0 } }),
    '/partners/C-bad': bad,
  }
  const server = await createOfficeServer(0, ({ path }) => {
    const body = people[path]
    return body === undefined ? { status: 404, body: {} } : { status: 200, body }
  })
  const settings = settingsOf({
    url: server.url,
    customerPath: '/partners/{clientId}',
    fields,
    values,
  })
  await conform(t, async () => ({
    connect: (timeoutMs) => createRestCis({ ...settings, timeoutMs }, noSecret),
    slow: async () => void (await post(`${server.url}/faults`, { kind: 'slow', ms: 2_000 })),
    down: () => server.close(),
  }))
})

t.test('an answer that is not a customer is a fault of the CIS, never a customer', async (t) => {
  const server = await createOfficeServer(0, () => ({ status: 200, body: customer }))
  t.teardown(server.close)
  const cis = createRestCis(settingsOf({ url: server.url, answerBytesMax: '64 KB' }), noSecret)
  t.teardown(cis.close)
  const expected = {
    garbage: 'CIS_ANSWER',
    html: 'CIS_ANSWER',
    huge: 'CIS_UNREACHABLE',
    down: 'CIS_UNREACHABLE',
  }
  for (const [kind, code] of Object.entries(expected)) {
    await post(`${server.url}/faults`, { kind })
    await t.rejects(cis.fetch('C-1'), { code }, kind)
  }
  await post(`${server.url}/faults`, { kind: 'none' })
  t.match(await cis.fetch('C-1'), { record: { clientId: 'C-1' } })
})

t.test(
  'a record in another encoding is a fault of the CIS, and names nobody wrongly',
  async (t) => {
    const server = createServer((_, response) => {
      response.end(JSON.stringify({ ...customer, lastName: 'Häs' }), 'latin1')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const cis = createRestCis(settingsOf({ url: `http://127.0.0.1:${port}` }), noSecret)
    t.teardown(async () => {
      await cis.close()
      server.close()
    })
    await t.rejects(cis.fetch('C-1'), { code: 'CIS_ANSWER', message: /is not UTF-8/ })
  },
)

t.test('an identifier asks for nothing else than its customer', async (t) => {
  const asked: string[] = []
  const server = await createOfficeServer(0, ({ path }) => {
    asked.push(path)
    return { status: 200, body: customer }
  })
  const cis = createRestCis(settingsOf({ url: server.url }), noSecret)
  t.teardown(() => Promise.all([cis.close(), server.close()]))
  for (const id of ['.', '..']) t.equal(await cis.fetch(id), undefined, id)
  await cis.fetch('../x')
  t.same(asked, ['/customers/..%2Fx'])
})

t.test('a call that waits for its turn is not late', async (t) => {
  const server = await createOfficeServer(0, () => ({ status: 404, body: {} }))
  const cis = createRestCis(settingsOf({ url: server.url, connectionsMax: 2 }), noSecret)
  t.teardown(() => Promise.all([cis.close(), server.close()]))
  await post(`${server.url}/faults`, { kind: 'slow', ms: 100 })
  const ids = Array.from({ length: 20 }, (_, at) => `C-${at}`)
  t.same(
    await Promise.all(ids.map((id) => cis.fetch(id))),
    ids.map(() => undefined),
  )
})

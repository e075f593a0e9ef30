import { join } from 'node:path'
import { t } from 'tap'
import { endClients, register } from '../../../pipeline/customers/registrations.js'
import type { JobData } from '../../../pipeline/queues/jobs.js'
import { tieline } from '../../infra/command-line.js'
import { registeringAt } from '../../pipeline/customers/registering.js'
import { createProxy } from '../../pipeline/sources/servers/proxy.js'
import { createPostgres } from '../cis/postgres.js'
import { createRig, people, post, type Rig } from '../rig.js'

t.test('2,000 customer calls at once are answered though the CIS takes its time', async (t) => {
  // Clients, gateway and CIS share this process, so that none of their times says anything.
  const rig = await createRig(t, {
    gateway: { requestsPerSecondMax: 100_000 },
  })
  const ids = Array.from({ length: 150 }, (_, at) => String(7_000_000_001 + at)).filter(
    (_, at) => (at + 1) % 50 !== 0 && (at + 1) % 40 !== 0,
  )
  const tokens = await Promise.all(ids.map((clientId) => rig.token(clientId)))
  for (const token of tokens) await rig.ask('login', token)
  await post(`${rig.cis.url}/faults`, { kind: 'slow', ms: 200 })
  const calls = Array.from({ length: 2_000 }, (_, at) =>
    rig.ask('customer', tokens[at % tokens.length]),
  )
  const logins = await Promise.all(tokens.map((token) => rig.ask('login', token)))
  t.ok(
    logins.every(({ status }) => status === 200),
    'login does not wait for the CIS',
  )
  const answers = await Promise.all(calls)
  const statuses = new Map<number, number>()
  for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  t.same([...statuses], [[200, 2_000]])
})

t.test('an incomplete record is an outage; the log names the field, not the value', async (t) => {
  const rig = await createRig(t)
  const token = await rig.token(people.active)
  for (const field of ['externalSiteId', 'postalCode', 'meterId', 'rateCode', 'accountNumber']) {
    await post(`${rig.cis.url}/faults`, { kind: 'missing', field })
    t.match(await rig.ask('customer', token), { status: 503, text: '' }, field)
    t.match(String(rig.failures.at(-1)), new RegExp(`CIS_ANSWER: .*${field} is missing`))
  }
  await post(`${rig.cis.url}/faults`, { kind: 'none' })
  const other = await fetch(`${rig.cis.url}/customers/7000000002`)
  const { clientId: _, ...rest } = (await other.json()) as Record<string, unknown>
  const body = JSON.stringify({ ...rest, clientId: '7000000002' })
  await fetch(`${rig.cis.url}/customers/${people.active}`, { method: 'PUT', body })
  t.match(await rig.ask('customer', token), { status: 503, text: '' }, "never another's record")
})

/** Changes the record of a customer in the simulated CIS. */
async function change(rig: Rig, clientId: string, changed: (record: CisRecord) => object) {
  const url = `${rig.cis.url}/customers/${clientId}`
  const record = (await (await fetch(url)).json()) as CisRecord
  await fetch(url, { method: 'PUT', body: JSON.stringify(changed(record)) })
}

interface CisRecord {
  readonly locked?: unknown
  readonly attemptsRemaining?: unknown
  readonly customerSites: readonly { readonly meters: readonly object[] }[]
}

t.test('a record that is not as strict as the specification is corrected', async (t) => {
  const rig = await createRig(t, { cis: { statusSeconds: 0 } })
  const token = await rig.token(people.active)
  await change(rig, people.active, (record) => ({
    ...record,
    AcctStatus: 'A ',
    customerSites: [
      ...record.customerSites.map((site) => ({
        ...site,
        state: 'Ontario',
        postalCode: 'n9a4j8',
        meters: [...site.meters, { meterId: 'W-1', meterType: 'Water' }],
      })),
      { externalSiteId: 'S-9', meters: [] },
    ],
  }))
  const { status, text } = await rig.ask('customer', token)
  t.equal(status, 200)
  t.match(JSON.parse(text), { AcctStatus: 'A', customerSites: [{ postalCode: 'N9A 4J8' }] })
  t.match(text, '"state":"ON"')
  t.notMatch(text, /Water|S-9/)
  const queue = rig.queues.each.find(({ name }) => name === 'register')
  let jobs: readonly { data: JobData<'register'> }[] = []
  while (jobs.length === 0) jobs = (await queue?.getJobs()) ?? []
  t.match(jobs[0]?.data.customers, [{ clientId: people.active, partialSites: [String, 'S-9'] }])
})

t.test('a lock that cannot be read lets nobody in', async (t) => {
  const values = { locked: { N: false } }
  const rig = await createRig(t, { cis: { statusSeconds: 0, values } })
  const token = await rig.token(people.active)
  const cases: readonly (readonly [object, number, RegExp?])[] = [
    [{ locked: 'Yes' }, 503, /locked is not of type boolean \(it is a text like "AAA"\)/],
    [{ locked: 'False' }, 200],
    [{ locked: 0 }, 200],
    [{ locked: 2 }, 503, /locked is not of type boolean \(it is of type number\)/],
    [{ locked: { toString: 1 } }, 503, /locked is not of type boolean/],
    [{ locked: ['true'] }, 503, /locked is not/],
    [{ locked: 'true' }, 401],
    [{ attemptsRemaining: '2 of 3' }, 503, /attemptsRemaining is not a whole number/],
    [{ attemptsRemaining: 1.5 }, 503, /attemptsRemaining is not a whole number/],
    [{ locked: 1 }, 401],
    [{ locked: 'N', attemptsRemaining: '3' }, 200],
    [{ locked: null, attemptsRemaining: null }, 200],
  ]
  for (const [more, status, failure] of cases) {
    await change(rig, people.active, ({ locked: _, attemptsRemaining: __, ...record }) => ({
      ...record,
      ...more,
    }))
    for (const path of ['login', 'customer']) {
      t.match(await rig.ask(path, token), { status }, `${path} ${JSON.stringify(more)}`)
      if (failure !== undefined) t.match(String(rig.failures.at(-1)), failure)
    }
  }
  t.notMatch(rig.failures.map(String).join(), /Yes|2 of 3/)
})

t.test('a customer without an electric or gas meter has no account here', async (t) => {
  const rig = await createRig(t, { cis: { statusSeconds: 0 } })
  const token = await rig.token(people.active)
  for (const customerSites of [
    [],
    [{ externalSiteId: 'S-1', meters: [] }],
    [{ externalSiteId: 'S-2', meters: [{ meterId: 'W-1', meterType: 'Water' }] }],
  ]) {
    await change(rig, people.active, (record) => ({ ...record, customerSites }))
    for (const path of ['login', 'customer']) {
      t.match(await rig.ask(path, token), { status: 401, text: '{"errorCode":1}' }, path)
    }
  }
  const queue = rig.queues.each.find(({ name }) => name === 'register')
  let reported: readonly JobData<'register'>['customers'][number][] = []
  while (!reported.some(({ partialSites }) => partialSites?.includes('S-2'))) {
    const jobs: readonly { data: JobData<'register'> }[] = (await queue?.getJobs()) ?? []
    reported = jobs.flatMap(({ data }) => data.customers)
  }
  t.ok(reported.every(({ meters, acctStatus }) => meters.length === 0 && acctStatus === ''))
  await change(rig, people.active, (record) => ({
    ...record,
    AcctStatus: ' F ',
    customerSites: [],
  }))
  t.match(await rig.ask('customer', token), { text: '{"errorCode":86}' }, 'closed goes first')
})

t.test('a meter is left out only if it is surely of another commodity', async (t) => {
  const rig = await createRig(t, { cis: { statusSeconds: 0 } })
  const token = await rig.token(people.active)
  const typed = (meterType: string) =>
    change(rig, people.active, (one) => ({
      ...one,
      customerSites: one.customerSites.map((site) => ({
        ...site,
        meters: [...site.meters.slice(0, 1), { ...site.meters[0], meterId: 'X-1', meterType }],
      })),
    }))
  for (const type of ['WATER', 'Waste-water', 'Water Meter', 'SWR', 'sewer', 'Steam', 'Eau']) {
    await typed(type)
    const { status, text } = await rig.ask('customer', token)
    t.equal(status, 200, type)
    t.notMatch(text, 'X-1', type)
  }
  for (const type of [
    'NG',
    'KWH',
    'AMI',
    'Interruptible',
    'Solar',
    'Électricité',
    'Water Heating',
  ]) {
    await typed(type)
    t.match(await rig.ask('customer', token), { status: 503, text: '' }, type)
    t.match(String(rig.failures.at(-1)), 'meterType', type)
  }
})

t.test('with `normalise: false` a record is taken as it is', async (t) => {
  const rig = await createRig(t, { cis: { statusSeconds: 0, normalise: false } })
  const token = await rig.token(people.active)
  await change(rig, people.active, (record) => ({
    ...record,
    customerSites: record.customerSites.map((site) => ({ ...site, postalCode: '48201-1234' })),
  }))
  t.match(await rig.ask('customer', token), { status: 503, text: '' })
  const failure = String(rig.failures.at(-1))
  t.match(failure, 'customerSites[0].postalCode')
  t.match(failure, '99999-9999', 'the shape of the value')
  t.notMatch(failure, '48201')
})

/** Every client has a site and a meter of his own. */
const queries = {
  customer: `SELECT $1::text AS client_id, 'Ada' AS first_name, 'Haas' AS last_name, 'A' AS acct_status`,
  sites: `SELECT 'S-' || $1::text AS external_site_id, true AS is_primary, 'Ada' AS first_name,
    'Haas' AS last_name, '1 Oak Street' AS address1, 'Detroit' AS city, 'MI' AS state, '48201' AS postal_code`,
  meters: `SELECT 'S-' || $1::text AS external_site_id, 'A-' || $1 AS account_number, 'M-' || $1 AS meter_id,
    'Electric' AS meter_type, 'kWh' AS unit_of_measure, true AS is_primary, true AS is_ami,
    'RES' AS rate_code, 7 AS billing_cycle_id`,
}

t.test('a CIS database that refuses the login or is away ends no tenancy', async (t) => {
  const server = await createPostgres()
  t.teardown(server.close)
  await server.run('CREATE ROLE gate LOGIN')
  const between = await createProxy({ target: { host: '127.0.0.1', port: server.port } })
  t.teardown(between.close)
  const place = { host: '127.0.0.1', port: between.port, database: 'postgres', user: 'gate' }
  const cis = { kind: 'sql', ...place, tls: 'off', statusSeconds: 0, timeoutMs: 60_000, queries }
  const rig = await createRig(t, { profile: { cis } })
  const text = JSON.stringify({ companyCodes: ['DEMO'], timeZone: 'America/Detroit', cis })
  const profile = join(t.testdir({ 'sql.yaml': text }), 'sql.yaml')
  const token = await rig.token(people.active)
  t.match(await rig.ask('customer', token), { status: 200 })
  const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gate'`
  const failures = [
    [/configuration: .*\(SQLSTATE 28000\)/, () => server.run(`ALTER ROLE gate NOLOGIN; ${cut}`)],
    [/CIS_UNREACHABLE/, async () => between.down()],
  ] as const
  for (const [failure, fail] of failures) {
    await fail()
    for (const path of ['login', 'customer']) {
      t.match(await rig.ask(path, token), { status: 503, text: '' }, path)
      t.match(String(rig.failures.at(-1)), failure)
    }
    const probed = await tieline('probe', 'customer', people.active, '--profile', profile)
    t.match(probed, { code: 1, stdout: failure })
  }
  await server.run('ALTER ROLE gate LOGIN')
  between.pass()
  const other = '7000000002'
  t.match(await rig.ask('customer', await rig.token(other)), { status: 200 })
  const queue = rig.queues.each.find(({ name }) => name === 'register')
  let jobs: readonly { data: JobData<'register'> }[] = []
  while (!JSON.stringify(jobs).includes(other)) jobs = (await queue?.getJobs()) ?? []
  const context = registeringAt(rig.store)
  for (const { data } of [...jobs].reverse()) {
    await register(context, data.customers)
    await endClients(context, data.closed ?? [], 'closed')
  }
  const tenancies = await rig.store.rows({
    sql: 'SELECT client_ids, ended_by FROM tenancy FINAL ORDER BY client_ids',
  })
  t.same(tenancies, [
    { client_ids: [people.active], ended_by: '' },
    { client_ids: [other], ended_by: '' },
  ])
})

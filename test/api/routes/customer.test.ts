import { t } from 'tap'
import { createRig, people, post } from '../rig.js'

t.test('2,000 customer calls at once are answered though the CIS takes its time', async (t) => {
  // Clients, gateway and CIS share this process, so that none of their times says anything.
  const rig = await createRig(t, {
    gateway: { requestsPerSecondMax: 100_000, limits: { answerMsMax: 120_000 } },
    cis: { timeoutMs: 60_000 },
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

t.test(
  'a record that is not whole is an outage, and the log names the field, not the value',
  async (t) => {
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
  },
)

import type { Test } from 'tap'
import { catalogue } from '../../../infra/metrics/catalogue.js'
import { people, post } from '../../api/rig.js'
import { alertExpressions, dashboardExpressions, scrape } from '../../infra/metrics/scrape.js'
import { createPrometheus } from '../../rig/prometheus.js'
import type { GatewayStory } from './gateway.js'
import { header, until } from './stack.js'

const name = 'DEMO_05032024_Electric.csv'
const rows = [
  '910020000001,5113000001,E-1,3/4/2024 0:00,1.25',
  '910020000001,5113000001,E-1,3/4/2024 0:15,0.5',
  '910020000003,5113000003,E-3,3/4/2024 0:00,n/a',
]

/** What metrics are there for is done once: a file, a token that fails, a CIS that is away. */
async function keepBusy({ story, cis, ask, token }: GatewayStory): Promise<void> {
  await story.loadBytes(name, `${[header, ...rows].join('\n')}\n`)
  await ask('login', 'no token')
  await post(`${cis.url}/faults`, { kind: 'down' })
  await ask('customer', await token(people.active))
  await post(`${cis.url}/faults`, { kind: 'none' })
}

/** Holds a scrape to the catalogue and to what was done. */
export async function readMetrics(t: Test, gateway: GatewayStory): Promise<void> {
  const { stack } = gateway.story
  await keepBusy(gateway)
  const ports = [stack.gateway?.detail().operations ?? '', stack.worker.detail().operations ?? '']
  const [gatewayPort = '', workerPort = ''] = ports
  const read = await scrape(gatewayPort)
  t.equal(read.get('tieline_requests_total{route="customer",status="503",error_code=""}'), 2)
  t.equal(read.get('tieline_requests_total{route="login",status="401",error_code="1"}'), 1)
  t.equal(read.get('tieline_failures_total{code="CIS_UNREACHABLE"}'), 1)
  t.equal(read.get('tieline_failures_in_a_row{system="cis"}'), 1)
  t.ok((read.get('tieline_token_cache_total{outcome="hit"}') ?? 0) > 0)
  const keysAt = read.get(`tieline_keys_fetched_timestamp_seconds{issuer="${gateway.idp.url}"}`)
  t.ok(Math.abs((keysAt ?? 0) - Date.now() / 1_000) < 3_600)

  const outcome = async (one: string) =>
    (await scrape(workerPort)).get(`tieline_rows{feed="Electric",outcome="${one}"}`)
  await until(async () => (await outcome('accepted')) === 2)
  t.equal(await outcome('rejected'), 1)
  const scraped = await scrape(workerPort)
  t.equal(scraped.get('tieline_quantity{feed="Electric",outcome="accepted"}'), 1.75)
  t.equal(
    scraped.get('tieline_newest_interval_timestamp_seconds{company="DEMO",feed="Electric"}'),
    Date.parse('2024-03-04T05:30:00Z') / 1_000,
  )
  t.equal(scraped.get('tieline_files{status="published"}'), 1)
  t.match(Object.fromEntries(scraped), { tieline_store_up: 1, tieline_queue_up: 1 })
  const names = new Set([...read.keys(), ...scraped.keys()].map((series) => series.split('{')[0]))
  const missing = Object.keys(catalogue).filter(
    (one) => !names.has(one) && !names.has(`${one}_bucket`),
  )
  t.same(missing, [], 'every metric of the catalogue is reported')
  const labels = [...read.keys(), ...scraped.keys()].join('\n')
  for (const personal of [people.active, '910020000001', 'E-1', name]) {
    t.notOk(labels.includes(personal), `no label holds ${personal}`)
  }
  await t.test('Prometheus evaluates each rule and panel over it', (t) => evaluate(t, ports))
}

async function evaluate(t: Test, ports: readonly string[]): Promise<void> {
  const prometheus = await createPrometheus(t, ports)
  const isTold = async (expression: string) => (await prometheus.ask(expression)).length > 0
  for (const expression of dashboardExpressions()) {
    await t.resolves(
      until(() => isTold(expression)),
      expression,
    )
  }
  for (const { expr, left } of alertExpressions()) {
    await t.resolves(prometheus.ask(expr), expr)
    await t.resolves(
      until(() => isTold(left)),
      left,
    )
  }
}

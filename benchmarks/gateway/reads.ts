import { join } from 'node:path'
import { grouped } from '../../infra/commands/output/table.js'
import { demoPeople } from '../../infra/demo/back-office/people.js'
import { createOfficeServer } from '../../infra/demo/back-office/server.js'
import { numberedMeters } from '../../infra/demo/customers.js'
import { usageFile } from '../../infra/demo/usage-file.js'
import { sql, typed } from '../../pipeline/store/sql.js'
import { buildDaysAgain } from '../../pipeline/usage/days/build.js'
import { addDays } from '../../schemas/time/zone.js'
import { freePort } from '../../test/api/identity/provider.js'
import { benchDays, type QuestionFilling, questionInputs } from '../queries/fill.js'
import { measureOnRig, type Rig } from '../rig.js'
import { verdict } from '../usage/figures.js'
import { createThroughTieline } from '../usage/through-tieline.js'
import { inTurn, type Latencies, pace, renderLatencies, type TimedCall } from './pace.js'
import { identityOf } from './rig.js'
import { type SignedTokens, signTokens } from './tokens.js'

export interface ReadsBenchmark {
  readonly customers: number
  readonly seconds: number
  /** Months of days; the last one also has intervals. */
  readonly months?: number
  /** Requests one after the other. */
  readonly turns?: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: a year of days of a random customer. */
export interface ReadsFigures {
  readonly customers: number
  readonly reads: number
  /** One after the other: the bare engine and the gateway. */
  readonly engine: Latencies
  readonly gateway: Latencies
  readonly gatewayOverEngine: number
  /** At 50 requests a second: the bare engine, the gateway, and the gateway beside files that load. */
  readonly pacedEngine: Latencies
  readonly paced: Latencies
  readonly pacedOverEngine: number
  readonly besideLoad: Latencies
  readonly filesLoaded: number
}

const ratioMax = 1.5
const perSecond = 50
const year = { from: '2025-11-01', to: '2026-10-31' } as const
const intervalsFrom = '2026-10-01'
const tokenCount = 1_000

/**
 * A year of days of random customers through the gateway, beside the same days in bare engine queries
 * as
 * the store's reader.
 */
export async function measureReads(options: ReadsBenchmark): Promise<ReadsFigures> {
  const { customers, months = 13, print } = options
  print('estimate: gateway over engine 1.3, as a signature and two small statements are added')
  print('estimate: reads in 365 places, 30 ms of a core each: 50 a second need 1.5 cores')
  const filling = { customers, months, intervalsFrom }
  const [template] = demoPeople(1, 1).values()
  const clients = Array.from({ length: tokenCount }, (_, at) => pickClient(at, customers))
  const keys: object[] = []
  const idp = await createOfficeServer(0, () => ({ status: 200, body: { keys } }))
  const cis = await createOfficeServer(0, ({ path }) => ({
    status: 200,
    body: { ...template, clientId: path.split('/').at(-1) },
  }))
  try {
    const signed = await signTokens(idp.url, tokenCount, clients.map(String))
    keys.push(signed.jwk)
    const sections = {
      gateway: {
        listen: { port: await freePort() },
        operations: { port: 0 },
        requestsPerSecondMax: 10_000,
      },
      identity: identityOf(idp.url),
      cis: { kind: 'rest', url: cis.url, statusSeconds: 3_600 },
      reads: {},
      usage: { intervals: { Electric: [900, 3_600, 'day'] } },
      billing: { daysBackMax: 1, dailyHour: 23 },
    }
    return await measureOnRig(options, sections, async (rig) => {
      await fill(rig, filling)
      const figures = await measure(rig, { ...options, signed, clients })
      for (const line of verdicts(figures)) print(line)
      return figures
    })
  } finally {
    await Promise.all([idp.close(), cis.close()])
  }
}

/** A random customer, but for those who move out and those whose meter falls silent. */
function pickClient(at: number, customers: number): number {
  const client = (at * 7_919) % customers
  return client % 20 < 2 ? client + 2 : client
}

async function fill({ store }: Rig, filling: QuestionFilling): Promise<void> {
  for (const statement of questionInputs(filling)) await store.command(statement)
  await buildDaysAgain(store, benchDays(filling))
}

interface Measuring extends ReadsBenchmark {
  readonly signed: SignedTokens
  readonly clients: readonly number[]
}

async function measure(rig: Rig, options: Measuring): Promise<ReadsFigures> {
  const { customers, seconds, turns = 50, print } = options
  const { engine, gateway } = createCalls(rig, options)
  const noted = async (name: string, figures: Promise<Latencies>) => {
    print(`${name.padEnd(34)} ${renderLatencies(await figures)}`)
    return figures
  }
  for (const warmUp of [engine, gateway]) await inTurn(warmUp, 5)
  const [counted] = await rig.store.rows<{ n: string }>({
    sql: 'SELECT toString(count()) AS n FROM usage_read',
  })
  print(`${grouped(customers)} customers, ${grouped(Number(counted?.n))} reads`)
  const alone = await noted('engine, one by one', inTurn(engine, turns))
  const through = await noted('gateway, one by one', inTurn(gateway, turns))
  const rate = { perSecond, seconds }
  const pacedEngine = await noted(`engine, ${perSecond} a second`, pace(engine, rate))
  const paced = await noted(`gateway, ${perSecond} a second`, pace(gateway, rate))
  const load = await startLoad(rig, customers)
  const besideLoad = await noted('gateway, beside files that load', pace(gateway, rate))
  return {
    customers,
    reads: Number(counted?.n),
    ...{ engine: alone, gateway: through, gatewayOverEngine: through.p50Ms / alone.p50Ms },
    ...{ pacedEngine, paced, pacedOverEngine: paced.p50Ms / pacedEngine.p50Ms },
    ...{ besideLoad, filesLoaded: await load.stop() },
  }
}

function createCalls({ stack, store }: Rig, { signed, clients }: Measuring) {
  const url = `${stack.gateway?.detail().addresses[0]}/v1/gateway/usage`
  const meterOf = (at: number) => String(55_000_000 + (clients[at % clients.length] ?? 0))
  const engine: TimedCall = async (at) => {
    const days = await store.rows({
      sql: sql`SELECT local_day, sum(quantity) FROM usage_read FINAL WHERE meter_id = ${meterOf(at)}
        AND local_day BETWEEN ${typed('Date', year.from)} AND ${typed('Date', year.to)} GROUP BY local_day ORDER BY local_day`,
      settings: { max_threads: 1 },
    })
    return days.length > 0
  }
  const gateway: TimedCall = async (at) => {
    const query = new URLSearchParams({ meterId: meterOf(at), ...year })
    const authorization = `Bearer ${signed.tokens[at % signed.tokens.length]}`
    const answer = await fetch(`${url}?${query}`, { headers: { authorization } })
    const text = await answer.text()
    return answer.status === 200 && JSON.parse(text).points.length > 0
  }
  return { engine, gateway }
}

/** Loads files of a day each, before the year that is read, one after the other, until it is stopped. */
async function startLoad(rig: Rig, customers: number) {
  const through = await createThroughTieline(rig)
  let [files, isOpen] = [0, true]
  const run = async () => {
    for (; isOpen; files++) {
      const path = join(rig.files, `load-${files}.csv`)
      await usageFile(path, {
        meters: numberedMeters(customers),
        seed: 1,
        firstDay: addDays('2025-08-01', files),
        days: 1,
        intervalSeconds: 900,
        zone: rig.profile.timeZone,
        badShare: 0,
      })
      await through.measure(path, { keep: true })
    }
  }
  const running = run()
  running.catch(() => undefined)
  return {
    stop: async () => {
      isOpen = false
      await running
      await through.close()
      return files
    },
  }
}

function verdicts({ gatewayOverEngine, paced, besideLoad }: ReadsFigures): readonly string[] {
  const { calls, failed } = paced
  const ratio = `gateway over engine, one by one ${gatewayOverEngine.toFixed(2)}`
  return [
    verdict(ratio, gatewayOverEngine <= ratioMax, ratioMax),
    verdict(`answered at ${perSecond} a second ${calls - failed}`, failed === 0, calls),
    `p99 ${paced.p99Ms.toFixed(0)} ms, beside files that load ${besideLoad.p99Ms.toFixed(0)} ms`,
  ]
}

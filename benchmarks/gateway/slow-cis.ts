import { writeFileSync } from 'node:fs'
import { grouped } from '../../infra/commands/output/table.js'
import { median } from '../usage/figures.js'
import { burstCount, createGatewayRig, type GatewayRig, pacedLogins } from './rig.js'
import { type WrkFigures, wrk } from './wrk.js'

export interface SlowCisBenchmark {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: medians. */
export interface SlowCisFigures {
  readonly aloneP99Ms: number
  readonly quickP99Ms: number
  readonly slowP99Ms: number
  readonly slowOverAlone: number
  readonly slowOverQuick: number
  /** Of the 2,000 calls, while the CIS is slow; all were answered with 200. */
  readonly customerP50Ms: number
  readonly customerP99Ms: number
}

const slowMs = 200
const tokenCount = 3_000

interface Round {
  readonly alone: WrkFigures
  readonly quick: WrkFigures
  readonly slow: WrkFigures
  readonly customers: WrkFigures
}

/**
 * Logins at an even pace, of which some go on beside 2,000 customer calls that come at once and wait
 * 200 ms each for the CIS. Fewer than 2,000 answers, or one that is no 200, end the run.
 */
export async function measureSlowCis(options: SlowCisBenchmark): Promise<SlowCisFigures> {
  const { print, rounds, json } = options
  print(`login beside ${grouped(burstCount)} customer calls at once, the CIS ${slowMs} ms slow`)
  print('estimate: 1.6 s for the calls, 256 to the CIS at once; login waits for their work only')
  const rig = await createGatewayRig(tokenCount)
  try {
    const measured: Round[] = []
    for (let round = 0; round <= rounds; round++) {
      const one = await measure(rig, options)
      expectWhole(one)
      if (round > 0) measured.push(one)
      print(render(round, one))
    }
    const result = summarize(measured)
    for (const [name, value] of Object.entries(result)) print(`${name.padEnd(16)} ${value}`)
    if (json) writeFileSync(json, `${JSON.stringify(result, undefined, 2)}\n`)
    return result
  } finally {
    await rig.close()
  }
}

/** In turn: logins alone, beside a burst while the CIS is quick, and beside one while it is slow. */
async function measure(rig: GatewayRig, options: SlowCisBenchmark): Promise<Round> {
  await setFault(rig, { kind: 'none' })
  const alone = await pacedLogins(rig, options)
  const [quick] = await beside(rig, options)
  await rig.settled()
  await setFault(rig, { kind: 'slow', ms: slowMs })
  const [slow, customers] = await beside(rig, options)
  await rig.settled()
  return { alone, quick, slow, customers }
}

async function beside(
  rig: GatewayRig,
  options: SlowCisBenchmark,
): Promise<readonly [WrkFigures, WrkFigures]> {
  const burst = wrk({
    url: rig.urls.warm.replace('login', 'customer'),
    script: rig.scripts.burst,
    connections: burstCount,
    seconds: options.seconds,
  })
  return Promise.all([pacedLogins(rig, options), burst])
}

async function setFault(rig: GatewayRig, fault: object): Promise<void> {
  await fetch(`${rig.cisUrl}/faults`, { method: 'POST', body: JSON.stringify(fault) })
}

function expectWhole({ alone, quick, slow, customers }: Round): void {
  const errors = [alone, quick, slow, customers].reduce((sum, one) => sum + one.errors, 0)
  if (errors > 0) throw new Error(`${errors} answers were wrong`)
  if (customers.requests === burstCount) return
  throw new Error(`${customers.requests} of ${burstCount} customer calls were answered in time`)
}

function summarize(rounds: readonly Round[]): SlowCisFigures {
  const of = (name: keyof Round, key: 'p50Ms' | 'p99Ms') =>
    median(rounds.map((round) => round[name][key]))
  const ratio = (a: number, b: number) => Math.round((a / b) * 1_000) / 1_000
  return {
    aloneP99Ms: of('alone', 'p99Ms'),
    quickP99Ms: of('quick', 'p99Ms'),
    slowP99Ms: of('slow', 'p99Ms'),
    slowOverAlone: ratio(of('slow', 'p99Ms'), of('alone', 'p99Ms')),
    slowOverQuick: ratio(of('slow', 'p99Ms'), of('quick', 'p99Ms')),
    customerP50Ms: of('customers', 'p50Ms'),
    customerP99Ms: of('customers', 'p99Ms'),
  }
}

function render(round: number, { alone, quick, slow, customers }: Round): string {
  const which = round === 0 ? 'warm-up' : `round ${round}`
  const p99 = ({ p99Ms }: WrkFigures) => `${p99Ms.toFixed(2)} ms`
  return (
    `${which}  login p99 alone ${p99(alone)}, CIS quick ${p99(quick)}, slow ${p99(slow)}; ` +
    `customer p99 ${p99(customers)}`
  )
}

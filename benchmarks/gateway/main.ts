import { writeFileSync } from 'node:fs'
import { grouped } from '../../infra/commands/output/table.js'
import { median } from '../usage/figures.js'
import { createGatewayRig, type GatewayRig } from './rig.js'
import { type WrkFigures, wrk } from './wrk.js'

export interface GatewayBenchmark {
  readonly rounds: number
  readonly tokens: number
  readonly seconds: number
  readonly connections: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: medians of responses per second, milliseconds, ratios. */
export interface GatewayBenchmarkFigures {
  readonly bareRps: number
  readonly loginWarmRps: number
  readonly loginColdRps: number
  readonly joseLimitRps: number
  readonly fastifyColdRps: number
  readonly fastifyWarmRps: number
  readonly customerRps: number
  /** A warm login over TLS: by uWebSockets.js, and on the one address that bind has too. */
  readonly listenRps: number
  readonly mutualRps: number
  readonly mutualOverListen: number
  readonly warmOverBare: number
  readonly coldOverLimit: number
  readonly coldOverFastify: number
  readonly warmOverFastify: number
  readonly p99WarmMs: number
  readonly p99ColdMs: number
}

interface Contest {
  readonly name: string
  readonly url: (rig: GatewayRig) => string
  /** One token that is remembered, or each token in turn. */
  readonly tokens: 'same' | 'each'
}

const contests = {
  bare: { name: 'bare uWebSockets.js', url: ({ urls }) => urls.bare, tokens: 'same' },
  warm: { name: 'login, warm', url: ({ urls }) => urls.warm, tokens: 'same' },
  fastifyWarm: { name: 'Fastify, fast-jwt', url: ({ urls }) => urls.fastifyWarm, tokens: 'same' },
  limit: { name: "jose's limit", url: ({ urls }) => urls.limit, tokens: 'each' },
  cold: { name: 'login, cold', url: ({ urls }) => urls.cold, tokens: 'each' },
  fastifyCold: { name: 'Fastify, jose', url: ({ urls }) => urls.fastifyCold, tokens: 'each' },
  customer: {
    name: 'customer',
    url: ({ urls }) => urls.warm.replace('login', 'customer'),
    tokens: 'same',
  },
  listen: { name: 'listen, TLS', url: ({ urls }) => urls.listen, tokens: 'same' },
  mutual: { name: 'mutual, TLS', url: ({ urls }) => urls.mutual, tokens: 'same' },
} as const satisfies Record<string, Contest>
type ContestName = keyof typeof contests

/**
 * Drives each server in turn, round by round, so that other load on the machine affects all of them.
 * Any response other than 200 ends the run: a fast failure is not fast.
 */
export async function measureGateway(options: GatewayBenchmark): Promise<GatewayBenchmarkFigures> {
  const { print, rounds } = options
  print(`signing ${grouped(options.tokens)} tokens, starting the servers`)
  print('estimate: warm 0.8 of bare, 4 us of work in addition to 10')
  print('estimate: cold 0.75 of the limit, 8 us of work in addition to 30 on the main thread')
  const rig = await createGatewayRig(options.tokens)
  try {
    const figures = new Map<ContestName, WrkFigures[]>()
    for (let round = 0; round <= rounds; round++) {
      for (const name of Object.keys(contests) as ContestName[]) {
        const measured = await measure(rig, contests[name], options)
        if (round > 0) figures.set(name, [...(figures.get(name) ?? []), measured])
        print(renderRound(round, contests[name].name, measured))
      }
    }
    const result = summarize(figures)
    for (const [name, value] of Object.entries(result)) print(`${name.padEnd(16)} ${value}`)
    if (options.json) writeFileSync(options.json, `${JSON.stringify(result, undefined, 2)}\n`)
    return result
  } finally {
    await rig.close()
  }
}

async function measure(
  rig: GatewayRig,
  contest: Contest,
  { connections, seconds }: GatewayBenchmark,
): Promise<WrkFigures> {
  const isSame = contest.tokens === 'same'
  const measured = await wrk({
    url: contest.url(rig),
    script: isSame ? rig.scripts.same : rig.scripts.each,
    ...(isSame && { token: rig.token }),
    connections,
    seconds,
  })
  if (measured.errors > 0) throw new Error(`${contest.name}: ${measured.errors} wrong responses`)
  return measured
}

function renderRound(round: number, name: string, { rps, p50Ms, p99Ms }: WrkFigures): string {
  const which = round === 0 ? 'warm-up ' : `round ${round} `
  const latency = `p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms`
  return `${which} ${name.padEnd(20)} ${grouped(Math.round(rps)).padStart(9)} /s  ${latency}`
}

function summarize(
  figures: ReadonlyMap<ContestName, readonly WrkFigures[]>,
): GatewayBenchmarkFigures {
  const of = (name: ContestName, key: 'rps' | 'p99Ms') =>
    median((figures.get(name) ?? []).map((one) => one[key]))
  const ratio = (a: ContestName, b: ContestName) =>
    Math.round((of(a, 'rps') / of(b, 'rps')) * 1_000) / 1_000
  return {
    bareRps: of('bare', 'rps'),
    loginWarmRps: of('warm', 'rps'),
    loginColdRps: of('cold', 'rps'),
    joseLimitRps: of('limit', 'rps'),
    fastifyColdRps: of('fastifyCold', 'rps'),
    fastifyWarmRps: of('fastifyWarm', 'rps'),
    customerRps: of('customer', 'rps'),
    listenRps: of('listen', 'rps'),
    mutualRps: of('mutual', 'rps'),
    mutualOverListen: ratio('mutual', 'listen'),
    warmOverBare: ratio('warm', 'bare'),
    coldOverLimit: ratio('cold', 'limit'),
    coldOverFastify: ratio('cold', 'fastifyCold'),
    warmOverFastify: ratio('warm', 'fastifyWarm'),
    p99WarmMs: of('warm', 'p99Ms'),
    p99ColdMs: of('cold', 'p99Ms'),
  }
}

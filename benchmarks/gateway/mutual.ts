import { readFileSync, writeFileSync } from 'node:fs'
import { Agent, type RequestOptions, request } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { demoAccount } from '../../infra/demo/office.js'
import { verdict } from '../usage/figures.js'
import { type Latencies, toLatencies } from './pace.js'
import { createGatewayRig, type GatewayRig } from './rig.js'

export interface MutualBenchmark {
  readonly tokens: number
  readonly seconds: number
  readonly connections: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** Answers of one contest, all of them right. */
interface Contest extends Latencies {
  /** Share of the connections whose handshake resumed a session. */
  readonly resumed: number
}

/** What `--json` writes: by address, endpoint and connections. */
export interface MutualFigures {
  readonly contests: Readonly<Record<string, Contest>>
  readonly resumedOverFull: number
}

/** `kept`: few connections, all requests. `full` and `resumed`: a connection for each request. */
const connecting = {
  kept: { keepAlive: true, maxCachedSessions: 100 },
  resumed: { keepAlive: false, maxCachedSessions: 100 },
  full: { keepAlive: false, maxCachedSessions: 0 },
} as const
type Connecting = keyof typeof connecting

interface Wanted {
  readonly address: 'listen' | 'mutual'
  readonly endpoint: 'login' | 'customer' | 'bind'
  readonly connections: Connecting
}

const wanted: readonly Wanted[] = [
  ...(['listen', 'mutual'] as const).flatMap((address) =>
    (['kept', 'resumed', 'full'] as const).map((connections) => ({
      ...{ address, connections },
      endpoint: 'login' as const,
    })),
  ),
  { address: 'mutual', endpoint: 'customer', connections: 'kept' },
  { address: 'mutual', endpoint: 'bind', connections: 'kept' },
  { address: 'mutual', endpoint: 'bind', connections: 'resumed' },
]

const ratioMin = 1.2
const basic = `Basic ${Buffer.from(`${demoAccount.name}:${demoAccount.password}`).toString('base64')}`

/**
 * Login, customer and bind over TLS, on `mutual` with a client certificate, which wrk cannot show. So this
 * process makes the requests, and the figures include what it takes as a client.
 */
export async function measureMutual(options: MutualBenchmark): Promise<MutualFigures> {
  const { print, json } = options
  print('estimate: mutual login 5,000 a second with open connections, 0.1 ms each on both sides')
  print('estimate: 400 connections a second with a full handshake, twice that with a resumed one')
  const rig = await createGatewayRig(options.tokens)
  const contests: Record<string, Contest> = {}
  try {
    for (const one of wanted) {
      const name = `${one.address} ${one.endpoint} ${one.connections}`
      // Warms up both sides.
      await drive(rig, one, { ...options, seconds: options.seconds / 3 })
      const contest = await drive(rig, one, options)
      contests[name] = contest
      print(`${name.padEnd(24)} ${render(contest)}`)
    }
  } finally {
    await rig.close()
  }
  const rate = (connections: Connecting) =>
    contests[`mutual login ${connections}`]?.perSecond ?? Number.NaN
  const resumedOverFull = rate('resumed') / rate('full')
  const figures = { contests, resumedOverFull }
  const text = `mutual, resumed over full handshakes ${resumedOverFull.toFixed(2)}`
  print(verdict(text, resumedOverFull >= ratioMin, ratioMin))
  if (json) writeFileSync(json, `${JSON.stringify(figures, undefined, 2)}\n`)
  return figures
}

/** Requests by as many clients at once as there are connections, each when its last one is answered. */
async function drive(rig: GatewayRig, wanted: Wanted, options: MutualBenchmark): Promise<Contest> {
  const { certificates, urls } = rig
  const agent = new Agent({
    ...connecting[wanted.connections],
    ca: readFileSync(certificates.caFile),
    cert: readFileSync(certificates.clientCertFile),
    key: readFileSync(certificates.clientKeyFile),
  })
  const url = urls[wanted.address].replace('login', wanted.endpoint)
  const authorization = wanted.endpoint === 'bind' ? basic : `Bearer ${rig.token}`
  const sockets = { all: new Set<TLSSocket>(), resumed: 0 }
  const onSocket = (socket: TLSSocket) => {
    if (sockets.all.has(socket)) return
    sockets.all.add(socket)
    if (socket.isSessionReused()) sockets.resumed++
  }
  const times: number[] = []
  const from = performance.now()
  const until = from + options.seconds * 1_000
  const run = async () => {
    while (performance.now() < until) {
      const startedAt = performance.now()
      const body = wanted.endpoint === 'bind' ? nextBind() : ''
      await call(url, { agent, headers: { authorization } }, { body, onSocket })
      times.push(performance.now() - startedAt)
    }
  }
  try {
    await Promise.all(Array.from({ length: options.connections }, run))
  } finally {
    agent.destroy()
  }
  const resumed = sockets.resumed / sockets.all.size
  // The first connections have no session to resume.
  const fullMax = 2 * options.connections
  const isWrong = {
    kept: false,
    resumed: sockets.all.size - sockets.resumed > fullMax,
    full: resumed > 0,
  }
  if (isWrong[wanted.connections]) {
    throw new Error(`${JSON.stringify(wanted)}: ${resumed} of the handshakes were resumed`)
  }
  return { ...toLatencies(times, times.length, from), resumed }
}

interface Sent {
  readonly body: string
  readonly onSocket: (socket: TLSSocket) => void
}

function call(url: string, options: RequestOptions, { body, onSocket }: Sent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...options, method: 'POST' }, async (response) => {
      onSocket(response.socket as TLSSocket)
      let text = ''
      for await (const piece of response) text += piece
      if (response.statusCode === 200) resolve()
      else reject(new Error(`${url} answered ${response.statusCode} ${text}`))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

let binds = 0
/** Binds the next hub to the next meter. */
function nextBind(): string {
  const at = binds++
  const hub = at.toString(16).toUpperCase().padStart(6, '0')
  return JSON.stringify({
    hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
    accountSlid: `SLID-${5_113_000_000 + at}`,
    macAddress: `00:11:22:${hub.slice(0, 2)}:${hub.slice(2, 4)}:${hub.slice(4)}`,
    installCode: '83FED3407A939723A5C639B26916D505C3B5',
  })
}

function render({ perSecond, p50Ms, p99Ms, resumed }: Contest): string {
  const latency = `p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms`
  return `${perSecond.toFixed(0).padStart(6)} /s  ${latency}  ${Math.round(100 * resumed)} % resumed`
}

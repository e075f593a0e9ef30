import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { grouped } from '../../infra/commands/output/table.js'
import {
  assertionOf,
  createSamlSigner,
  encode,
  responseOf,
  signXml,
} from '../../test/api/identity/saml-provider.js'
import { median } from '../usage/figures.js'
import { createGatewayRig, type GatewayRig, pacedLogins } from './rig.js'
import type { WrkFigures } from './wrk.js'

export interface HostileBenchmark {
  readonly rounds: number
  readonly seconds: number
  readonly connections: number
  readonly print: (line: string) => void
}

const tokenCount = 1_000
/** Hostile requests a second, of all kinds in turn. */
const floodPerSecond = 1_000
const tickMs = 10
const socketsMax = 256

/**
 * Logins at an even pace, alone and beside 1,000 hostile requests a second: SAML responses that are
 * forged or have 80 transforms, malformed tokens, unknown key ids, huge headers, slow bodies.
 */
export async function measureHostile(options: HostileBenchmark): Promise<void> {
  const { print, rounds } = options
  print(`login beside ${grouped(floodPerSecond)} hostile requests a second`)
  print('estimate: p99 at most 3 times that of logins alone')
  const signer = createSamlSigner()
  const rig = await createGatewayRig(tokenCount, signer.publicKey)
  const kinds = hostileTokens(rig)
  try {
    const alone: WrkFigures[] = []
    const beside: WrkFigures[] = []
    for (let round = 0; round <= rounds; round++) {
      const quiet = await pacedLogins(rig, options)
      const flood = createFlood(rig, kinds)
      await sleep(1_000)
      const loud = await pacedLogins(rig, options)
      const sent = flood.stop()
      if (quiet.errors + loud.errors > 0) throw new Error('a good login failed')
      if (round > 0) {
        alone.push(quiet)
        beside.push(loud)
      }
      print(render(round, { quiet, loud, sent }))
    }
    const p99 = (all: readonly WrkFigures[]) => median(all.map(({ p99Ms }) => p99Ms))
    print(`aloneP99Ms       ${p99(alone)}`)
    print(`hostileP99Ms     ${p99(beside)}`)
    print(`hostileOverAlone ${(p99(beside) / p99(alone)).toFixed(2)}`)
  } finally {
    await rig.close()
  }
}

/** Makes the value of a hostile `Authorization`, other each time. */
type ToToken = (count: number) => string

function hostileTokens({ token }: GatewayRig): readonly ToToken[] {
  const text = signXml(responseOf(assertionOf()), createSamlSigner())
  const transform = '<Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>'
  const bomb = text.replace('</Transforms>', `${transform.repeat(80)}</Transforms>`)
  const named = (xml: string, count: number) => encode(xml.replace('>C-1<', `>C-${count}<`))
  const [, claims, signature] = token.split('.')
  const header = (count: number) =>
    Buffer.from(JSON.stringify({ alg: 'RS256', kid: `k${count}` })).toString('base64url')
  return [
    (count) => named(text, count),
    (count) => named(bomb, count),
    (count) => `a.b${count}.c`,
    (count) => `${header(count)}.${claims}.${signature}`,
    (count) => `${token.slice(0, -8)}${String(count).padStart(8, 'A')}`,
    (count) => 'x'.repeat(20_000 + (count % 10)),
  ]
}

interface Flood {
  /** What was answered by status; 0 for a connection that broke. */
  stop(): ReadonlyMap<number, number>
}

function createFlood(rig: GatewayRig, kinds: readonly ToToken[]): Flood {
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax })
  const url = new URL(rig.urls.warm)
  const statuses = new Map<number, number>()
  const slow = new Set<Socket>()
  const seen = (status: number) => statuses.set(status, (statuses.get(status) ?? 0) + 1)
  let count = 0
  const sendSlow = () => {
    const socket = connect(Number(url.port), url.hostname)
    slow.add(socket)
    socket.on('error', () => undefined).on('close', () => slow.delete(socket))
    socket.write(`POST ${url.pathname} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx`)
  }
  const send = () => {
    const kind = count++ % (kinds.length + 1)
    const toToken = kinds[kind]
    if (toToken === undefined) return sendSlow()
    const headers = { authorization: `Bearer ${toToken(count)}` }
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      seen(response.statusCode ?? 0)
      response.resume()
    })
    sent.on('error', () => seen(0))
    sent.end()
  }
  const timer = setInterval(() => {
    for (let at = 0; at < (floodPerSecond * tickMs) / 1_000; at++) send()
  }, tickMs)
  return {
    stop: () => {
      clearInterval(timer)
      agent.destroy()
      for (const socket of slow) socket.destroy()
      return statuses
    },
  }
}

interface Round {
  readonly quiet: WrkFigures
  readonly loud: WrkFigures
  readonly sent: ReadonlyMap<number, number>
}

function render(round: number, { quiet, loud, sent }: Round): string {
  const which = round === 0 ? 'warm-up' : `round ${round}`
  const answered = [...sent].sort(([a], [b]) => a - b).map(([status, n]) => `${status}: ${n}`)
  const p99 = ({ p99Ms, requests }: WrkFigures) => `${p99Ms.toFixed(2)} ms of ${grouped(requests)}`
  return `${which}  login p99 alone ${p99(quiet)}, beside ${p99(loud)}; hostile ${answered.join(', ')}`
}

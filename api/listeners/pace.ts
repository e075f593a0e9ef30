import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'

/**
 * Whether one more request is within the limit of its address; `at` is `performance.now()`.
 */
export type RateLimit = (at: number, address: () => string | number) => boolean

const addressesMax = 100_000
/** How long requests are counted per address after a second above the limit. */
const watchSeconds = 60

/**
 * The sender of a request: an IPv4 address, or an IPv6 network of 64 bits, all of whose addresses one customer
 * line has. `address` is as Node names it.
 */
export function senderOf(address: string): string {
  if (address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [head = [], tail] = address.split('::').map((part) => part.split(':').filter(Boolean))
  const zeros = tail === undefined ? 0 : 8 - head.length - tail.length
  return [...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])].slice(0, 4).join(':')
}

/** The same of the bytes of an address: IPv4 as a number, else as text, and 0 on a Unix socket. */
export function senderOfBytes(address: ArrayBuffer): number | string {
  const bytes = Buffer.from(address)
  if (bytes.length === 0) return 0
  const isMapped = bytes.subarray(0, 12).equals(mappedPrefix)
  return bytes.length === 4 || isMapped
    ? bytes.readUInt32BE(bytes.length - 4)
    : bytes.toString('latin1', 0, 8)
}

const mappedPrefix = Buffer.from('00000000000000000000ffff', 'hex')

/**
 * Limits the requests per second of each address. While all requests together stay within the limit,
 * no address can exceed it and none is looked up. Counting starts in the first second above the
 * limit; in that second alone an address may send up to twice the limit.
 */
export function createRateLimit(requestsPerSecondMax: number): RateLimit {
  let second = 0
  let total = 0
  let watchUntil = 0
  let counts = new Map<string | number, number>()
  return (ms, address) => {
    const at = Math.floor(ms / 1_000)
    if (at !== second || counts.size > addressesMax) {
      second = at
      total = 0
      if (counts.size > 0) counts = new Map()
    }
    total++
    if (total > requestsPerSecondMax) watchUntil = at + watchSeconds
    if (at >= watchUntil) return true
    const who = address()
    const count = (counts.get(who) ?? 0) + 1
    counts.set(who, count)
    return count <= requestsPerSecondMax
  }
}

/** A handshake costs the listener's only thread more than a millisecond. */
const handshakesPerTurnMax = 10

/**
 * Begins the handshakes of a TLS server a few in each turn of the event loop, and those of each address
 * in turn. So a thousand connections that are opened at once hold up neither the requests of open
 * connections nor the connections of other addresses.
 */
export function paceHandshakes(server: EventEmitter): void {
  const begin = server.listeners('connection')
  server.removeAllListeners('connection')
  const waiting = new Map<string, Socket[]>()
  const turn = () => {
    let begun = 0
    for (const [address, sockets] of waiting) {
      const socket = sockets.shift()
      // Behind all other addresses.
      waiting.delete(address)
      if (sockets.length > 0) waiting.set(address, sockets)
      if (socket?.destroyed !== false) continue
      for (const listener of begin) listener.call(server, socket)
      if (++begun === handshakesPerTurnMax) break
    }
    if (waiting.size > 0) setImmediate(turn)
  }
  server.on('connection', (socket: Socket) => {
    // Until TLS reports its errors.
    socket.on('error', () => socket.destroy())
    const address = senderOf(socket.remoteAddress ?? '')
    const sockets = waiting.get(address)
    if (sockets !== undefined) return void sockets.push(socket)
    waiting.set(address, [socket])
    if (waiting.size === 1) setImmediate(turn)
  })
}

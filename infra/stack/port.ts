import { createServer } from 'node:net'
import { toListenFault } from '../../api/listeners/listener.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'

const portsTriedMax = 200

/**
 * Whether a loopback port is free at this moment; another program may still take it first. Throws
 * `LISTENER` with the system's code for a port that this user may not have.
 */
export async function isPortFree(port: number): Promise<boolean> {
  const place = { host: '127.0.0.1', port }
  const code = await whyTaken(place)
  if (code !== undefined && code !== 'EADDRINUSE') throw toListenFault(place, { code })
  return code === undefined
}

/** The system's code of why nothing can listen there; undefined if a program can. */
export function whyTaken(at: {
  readonly host: string
  readonly port: number
}): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', ({ code = 'UNKNOWN' }: NodeJS.ErrnoException) => resolve(code))
    probe.listen({ ...at, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })
}

export interface NamedListener {
  readonly setting: string
  readonly host: string
  readonly port: number
}

/** Listeners whose ports the profile names. Port 0 cannot be taken. */
export function namedListeners({ gateway, worker }: Profile): readonly NamedListener[] {
  const of = [
    [gateway?.listen?.socket === undefined ? gateway?.listen : undefined, 'gateway.listen'],
    [gateway?.mutual, 'gateway.mutual'],
    [gateway?.operations, 'gateway.operations'],
    [worker.operations, 'worker.operations'],
  ] as const
  return of.flatMap(([at, setting]) => {
    const { host = '', port = 0 } = at ?? {}
    return port === 0 ? [] : [{ setting, host, port }]
  })
}

type Place = Pick<NamedListener, 'host' | 'port'>

const anyHost = /^(0\.0\.0\.0|::)?$/

/** Whether two listeners cannot run side by side. */
export function isSamePort(one: Place, other: Place): boolean {
  const [host, otherHost] = [one.host, other.host].map((at) => at.replace('localhost', '127.0.0.1'))
  const isAny = anyHost.test(one.host) || anyHost.test(other.host)
  return one.port === other.port && (isAny || host === otherHost)
}

/** Whether the profile names this port of a host for one of its listeners. */
export function isNamedIn(profile: Profile, host = '127.0.0.1'): (port: number) => boolean {
  const named = namedListeners(profile)
  return (port) => named.some((one) => isSamePort(one, { host, port }))
}

/**
 * Starts a server on the wanted loopback port, or on the next free one above it that is not named for
 * another listener. Throws `PORT_TAKEN` if 200 ports in a row are taken, and any other fault of `start`.
 */
export async function onFreePort<T>(
  wanted: number,
  start: (port: number) => Promise<T>,
  isNamed: (port: number) => boolean = () => false,
): Promise<T> {
  const last = Math.min(wanted + portsTriedMax, 65_535)
  for (let port = wanted; port <= last; port++) {
    if (isNamed(port) || !(await isPortFree(port))) continue
    try {
      return await start(port)
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'PORT_TAKEN')) throw error
    }
  }
  throw new Fault(
    'PORT_TAKEN',
    `ports ${wanted} to ${last} are all taken; stop the programs that use them`,
  )
}

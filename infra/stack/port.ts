import { createServer } from 'node:net'
import { Fault } from '../../schemas/fault.js'

const portsTriedMax = 200

/** Whether a loopback port is free at this moment; another program may still take it first. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await whyTaken({ host: '127.0.0.1', port })) === undefined
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

/**
 * Starts a server on the wanted loopback port, or on the next free one above it. Throws `PORT_TAKEN`
 * if 200 ports in a row are taken, and any other fault of `start`.
 */
export async function onFreePort<T>(
  wanted: number,
  start: (port: number) => Promise<T>,
): Promise<T> {
  const last = Math.min(wanted + portsTriedMax, 65_535)
  for (let port = wanted; port <= last; port++) {
    if (!(await isPortFree(port))) continue
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

import { createServer } from 'node:net'
import { Fault } from '../../schemas/fault.js'

const portsTriedMax = 200

/** Whether a loopback port is free at this moment; another program may still take it first. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () =>
      probe.close(() => resolve(true)),
    )
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

import { once } from 'node:events'
import { createConnection } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until something accepts connections, five minutes at most. */
export async function untilListening(port: number, host = '127.0.0.1'): Promise<void> {
  for (let look = 0; look < 3_000; look++) {
    const socket = createConnection({ port, host })
    const answers = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (answers) return
    await sleep(100)
  }
  throw new Error(`nothing listens on ${host}:${port}`)
}

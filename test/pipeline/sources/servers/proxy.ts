import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'

/** Stands between a source and its server, counts what comes from there and can cut it off. */
export interface Between {
  readonly port: number
  /** Bytes that came from the server since the last `cutAfter` or `pass`. */
  passed(): number
  /** Ends every connection when so many more bytes have come from the server. */
  cutAfter(bytes: number): void
  /** Lets nothing more through when so many more bytes have come, and closes nothing either. */
  holdAfter(bytes: number): void
  /** Lets all through from now on. */
  pass(): void
  /** Ends what is connected and takes nothing new until `pass`. */
  down(): void
  close(): Promise<void>
}

export interface ProxyOptions {
  readonly target: { readonly host: string; readonly port: number }
  /** Where it listens; a free port of loopback by default. */
  readonly port?: number
}

export async function createProxy({ target, port = 0 }: ProxyOptions): Promise<Between> {
  const sockets = new Set<Socket>()
  let passed = 0
  let bytesMax = Number.POSITIVE_INFINITY
  let isHeld = false
  const isSilent = () => isHeld && passed >= bytesMax
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer((near) => {
    if (bytesMax <= 0 && !isHeld) return void near.destroy()
    const far = createConnection(target)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        if (socket === far && isSilent()) return
        near.destroy()
        far.destroy()
      })
    }
    near.pipe(far)
    far.on('data', (bytes) => {
      passed += bytes.length
      if (isSilent()) return void far.pause()
      if (passed >= bytesMax) {
        bytesMax = 0
        return cut()
      }
      if (!near.write(bytes)) {
        far.pause()
        near.once('drain', () => far.resume())
      }
    })
    far.on('end', () => isSilent() || near.end())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const reset = (limit: number, held = false) => {
    passed = 0
    isHeld = held
    bytesMax = limit
  }
  return {
    port: (server.address() as AddressInfo).port,
    passed: () => passed,
    cutAfter: (bytes) => reset(bytes),
    holdAfter: (bytes) => reset(bytes, true),
    pass: () => reset(Number.POSITIVE_INFINITY),
    down: () => {
      reset(0)
      cut()
    },
    close: async () => {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}

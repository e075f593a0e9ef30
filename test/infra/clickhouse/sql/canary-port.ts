import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { Test } from 'tap'

/** A port on this machine that nobody may call; `onCall` is called for each connection. */
export function canaryPort(t: Test, onCall: () => void): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      onCall()
      socket.destroy()
    }).listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
    t.teardown(() => server.close())
  })
}

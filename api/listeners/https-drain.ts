import type { Server } from 'node:https'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

export interface Drain {
  /** While true, each response closes its connection. */
  isClosing(): boolean
  /** See `Listener.close`. */
  close(): Promise<void>
}

/** Connections that are idle when a stop begins may have requests that are not read yet. */
const quietMs = 250

/**
 * Stops a server without losing received requests. Node's own `close` drops idle connections with
 * unread requests, and never closes a connection that has not sent anything.
 */
export function createDrain(server: Server, stopMsMax: number): Drain {
  const open = new Set<Socket>()
  const idle = new Set<Socket>()
  let isClosing = false
  let isOver = false
  const rest = (socket: Socket) => {
    if (isOver) socket.destroy()
    else idle.add(socket)
  }
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.on('secureConnection', (socket) => {
    rest(socket)
    socket.once('close', () => idle.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    idle.delete(socket)
    response.once('close', () => {
      if (!socket.destroyed) rest(socket)
    })
  })
  return {
    isClosing: () => isClosing,
    close: async () => {
      isClosing = true
      const closed = new Promise<void>((resolve) => {
        NetServer.prototype.close.call(server, () => resolve())
      })
      const late = setTimeout(() => destroyAll(open), stopMsMax)
      await sleep(quietMs)
      await turn()
      isOver = true
      destroyAll(idle)
      await closed
      clearTimeout(late)
      server.close()
    },
  }
}

function destroyAll(sockets: ReadonlySet<Socket>): void {
  for (const socket of sockets) socket.destroy()
}

import type { Server } from 'node:https'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'

export interface Drain {
  /** While true, each response of a socket closes its connection. */
  isClosing(socket: Socket): boolean
  /** Closes all connections: idle ones now, others with their response. */
  replaceConnections(): void
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
  const secure = new Set<Socket>()
  const stale = new WeakSet<Socket>()
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
    secure.add(socket)
    socket.once('close', () => {
      idle.delete(socket)
      secure.delete(socket)
    })
  })
  server.on('request', ({ socket }, response) => {
    idle.delete(socket)
    response.once('close', () => {
      if (!socket.destroyed) rest(socket)
    })
  })
  return {
    isClosing: (socket) => isClosing || stale.has(socket),
    replaceConnections: () => {
      for (const socket of secure) stale.add(socket)
      // Idle connections may have sent requests that are not read yet.
      const end = () => destroyAll(new Set([...idle].filter((socket) => stale.has(socket))))
      setTimeout(end, quietMs).unref()
    },
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

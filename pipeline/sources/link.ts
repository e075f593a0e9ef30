import type { RemoteFiles } from './remote-files.js'

/** A pool of connections to one source; idle connections are closed after a while. */
export interface Link {
  /** Runs an operation on a connection of its own; after a failure the connection is closed. */
  use<T>(run: (remote: RemoteFiles) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const idleMsMax = 10_000

export function createLink(connect: () => Promise<RemoteFiles>): Link {
  const idle = new Map<RemoteFiles, NodeJS.Timeout>()
  let isClosed = false
  const take = (): RemoteFiles | undefined => {
    for (const [remote, timer] of idle) {
      clearTimeout(timer)
      idle.delete(remote)
      if (remote.isOpen()) return remote
    }
    return undefined
  }
  const keep = async (remote: RemoteFiles) => {
    if (isClosed || !remote.isOpen()) return remote.close()
    const timer = setTimeout(() => {
      idle.delete(remote)
      void remote.close()
    }, idleMsMax)
    idle.set(remote, timer)
  }
  return {
    use: async (run) => {
      const remote = take() ?? (await connect())
      try {
        const result = await run(remote)
        await keep(remote)
        return result
      } catch (error) {
        await remote.close()
        throw error
      }
    },
    close: async () => {
      isClosed = true
      for (const timer of idle.values()) clearTimeout(timer)
      const remotes = [...idle.keys()]
      idle.clear()
      await Promise.all(remotes.map((remote) => remote.close()))
    },
  }
}

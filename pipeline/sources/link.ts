import { Fault } from '../../schemas/fault.js'
import type { RemoteFiles } from './remote-files.js'

/** A pool of connections to one source; idle connections are closed after a while. */
export interface Link {
  /**
   * Runs an operation on a connection of its own; after a failure the connection is closed. While the
   * server is silent one call waits for it, and others fail as the last one did: they would hold up what
   * other sources have.
   */
  use<T>(run: (remote: RemoteFiles) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const idleMsMax = 10_000
/** A server that lets a call wait so long before it fails is silent. */
const silentMs = 1_000

export function createLink(connect: () => Promise<RemoteFiles>): Link {
  const idle = new Map<RemoteFiles, NodeJS.Timeout>()
  const whileSilent = createTurns()
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
    use: (run) =>
      whileSilent(async (answered) => {
        const remote = take() ?? (await connect())
        try {
          const result = await run({ ...remote, look: looking(remote, answered) })
          await keep(remote)
          return result
        } catch (error) {
          await remote.close()
          throw error
        }
      }),
    close: async () => {
      isClosed = true
      for (const timer of idle.values()) clearTimeout(timer)
      const remotes = [...idle.keys()]
      idle.clear()
      await Promise.all(remotes.map((remote) => remote.close()))
    },
  }
}

/** Before a file is looked at, a call has had no answer from the server; behind that, it may be a long download. */
function looking({ look }: RemoteFiles, answered: () => void): RemoteFiles['look'] {
  return async (path) => {
    const found = await look(path)
    answered()
    return found
  }
}

/** Runs calls at once, but one at a time from one that found the server silent until one is answered. */
function createTurns(): <T>(call: (answered: () => void) => Promise<T>) => Promise<T> {
  let silence: Fault | undefined
  let isTried = false
  return async (call) => {
    let isTrial = silence !== undefined
    if (silence !== undefined && isTried) throw silence
    if (isTrial) isTried = true
    const end = () => {
      if (isTrial) isTried = false
      isTrial = false
    }
    const answered = () => {
      silence = undefined
      end()
    }
    const began = performance.now()
    try {
      const result = await call(answered)
      answered()
      return result
    } catch (error) {
      const isUnreachable = error instanceof Fault && error.code === 'SOURCE_UNREACHABLE'
      if (isUnreachable && performance.now() - began >= silentMs) silence = error
      throw error
    } finally {
      end()
    }
  }
}

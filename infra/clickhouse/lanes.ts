import { setImmediate as others } from 'node:timers/promises'
import { createSemaphore, type Semaphore } from '../../api/semaphore.js'
import type { StoreUser } from './http/auth.js'
import { exceptionOf } from './http/exception.js'
import type { ReaderLimits } from './reader-limits.js'

/** Concurrent statements of all clients; the rest of libuv's 64 threads serve files and KILL. */
export const statementsMax = 56
/** Of the threads beside them. */
const killsMax = 2

export interface Lanes {
  /**
   * Waits for a lane; resolves with the function that frees it. Throws TOO_MANY_SIMULTANEOUS_QUERIES (202)
   * for a reader who waits too long, or who has too many statements that wait.
   */
  acquire(client: StoreUser): Promise<() => void>
  /** For a KILL of a reader, whose own lanes may all be taken. */
  acquireForKill(): Promise<() => void>
  /**
   * For judging the text of a reader on the thread that serves everyone: one text of each at a time, and
   * others are served before it. Throws like `acquire` if too many texts wait.
   */
  acquireForJudging(reader: StoreUser): Promise<() => void>
}

/**
 * Divides the threads between the writer and the readers: readers cannot take the writer's lanes, and one
 * reader cannot take those of the others.
 */
export function createLanes(limits: ReaderLimits): Lanes {
  const writers = createSemaphore(statementsMax - limits.allLanes)
  const readers = createSemaphore(limits.allLanes)
  const kills = createSemaphore(killsMax)
  const own = new Map<string, Semaphore>()
  const judging = new Map<string, Semaphore>()
  const waiting = new Map<string, number>()
  const acquireBoth = async (name: string, ownLanes: Semaphore): Promise<() => void> => {
    const leaveOwn = await ownLanes.acquire(limits.waitMs)
    if (leaveOwn === undefined) throw waitedFor(`${limits.lanes} statements of ${name}`, limits)
    const leave = await readers.acquire(limits.waitMs)
    if (leave === undefined) {
      leaveOwn()
      throw waitedFor(`${limits.allLanes} statements of readers`, limits)
    }
    return () => {
      leave()
      leaveOwn()
    }
  }
  return {
    acquireForKill: async () => (await kills.acquire()) as () => void,
    acquireForJudging: async ({ name }) => {
      const turns = judging.get(name) ?? createSemaphore(1)
      judging.set(name, turns)
      const max = limits.lanes + limits.waiting
      if (turns.inUse() >= max) throw tooManyWait(name, max)
      const leave = (await turns.acquire()) as () => void
      await others()
      return leave
    },
    acquire: async ({ role, name }) => {
      if (role === 'writer') return (await writers.acquire()) as () => void
      const ownLanes = own.get(name) ?? createSemaphore(limits.lanes)
      own.set(name, ownLanes)
      const others = waiting.get(name) ?? 0
      if (others >= limits.waiting) throw tooManyWait(name, limits.waiting)
      waiting.set(name, others + 1)
      return acquireBoth(name, ownLanes).finally(() => {
        waiting.set(name, (waiting.get(name) ?? 1) - 1)
      })
    },
  }
}

function waitedFor(what: string, { waitMs }: ReaderLimits): ReturnType<typeof exceptionOf> {
  const detail = `${what} are running, and none has ended for ${waitMs / 1_000} s; try again later`
  return exceptionOf('TOO_MANY_SIMULTANEOUS_QUERIES', `Too many simultaneous queries: ${detail}`)
}

function tooManyWait(name: string, waiting: number): ReturnType<typeof exceptionOf> {
  const detail = `${waiting} statements of ${name} are waiting; try again later`
  return exceptionOf('TOO_MANY_SIMULTANEOUS_QUERIES', `Too many simultaneous queries: ${detail}`)
}

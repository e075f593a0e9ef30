import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../schemas/fault.js'

/** The time of a schedule, which depends on its statements and attempts alone, not on the machine. */
export interface Clock {
  /** In milliseconds. */
  now(): number
  /** Passes the time that a statement takes. */
  tick(): void
  /** Counts what was begun by `retried`. */
  begun(): number
  /**
   * Runs a job until it succeeds, fails for good, or has been tried for so long that it never will, with the
   * pauses of the queue.
   */
  retried<T>(run: () => Promise<T>): Promise<T>
}

const statementMs = 100
const pauseMsMax = 10_000
/** All weather together takes minutes of it. */
const jobMsMax = 3_600_000
/** Pauses are so much shorter than on the clock. */
const timesFaster = 100

export function createClock(): Clock {
  let nowMs = 0
  let begun = 0
  const pause = async (ms: number) => {
    nowMs += ms
    await sleep(ms / timesFaster)
  }
  return {
    now: () => nowMs,
    tick: () => {
      nowMs += statementMs
    },
    begun: () => begun,
    retried: async (run) => {
      begun++
      const lastMs = nowMs + jobMsMax
      for (let attempt = 1; ; attempt++) {
        try {
          return await run()
        } catch (error) {
          if (!(error instanceof Fault) || !error.retry || nowMs > lastMs) throw error
          await pause(Math.min(100 * 2 ** attempt, pauseMsMax))
        }
      }
    },
  }
}

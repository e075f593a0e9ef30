import type { Redis } from 'ioredis'
import type { Fault } from '../../schemas/fault.js'
import type { Reach } from './reach.js'
import { fromProgress, holdUp, type Wait } from './wait.js'

/**
 * Why polls fail that cannot be recorded with their source. Redis has it, because the store may refuse every
 * insert, and the job of a poll is gone when it ends.
 */
export interface HeldPolls {
  hold(source: string, fault: Fault): Promise<void>
  release(source: string): Promise<void>
  /** Releases all other sources: those that the profile had before. */
  keep(sources: readonly string[]): Promise<void>
  list(): Promise<readonly Wait[]>
}

/** Commands go through `reach`, so that a Redis that is away is a passing fault. */
export function createHeldPolls(
  redis: Redis,
  { prefix, reach }: { readonly prefix: string; readonly reach: Reach },
): HeldPolls {
  const key = `${prefix}:polls`
  const all = async () => {
    const held = await reach(() => redis.hgetall(key))
    return Object.entries(held).flatMap(([source, text]) => {
      const { wait } = fromProgress(JSON.parse(text))
      return wait === undefined
        ? []
        : [{ ...wait, job: 'poll' as const, arrival: undefined, source }]
    })
  }
  const release = async (source: string) => {
    await reach(() => redis.hdel(key, source))
  }
  return {
    hold: async (source, fault) => {
      const before = (await all()).find((one) => one.source === source)
      const wait = holdUp(fault, before)
      await reach(() => redis.hset(key, source, JSON.stringify({ wait })))
    },
    release,
    keep: async (sources) => {
      for (const { source } of await all()) if (!sources.includes(source)) await release(source)
    },
    list: all,
  }
}

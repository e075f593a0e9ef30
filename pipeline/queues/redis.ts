import { Redis } from 'ioredis'

/**
 * A connection for producers in a request's or a person's path: it fails fast while Redis is away
 * instead of holding commands back.
 */
export function createProducerConnection(url: string): Redis {
  return quiet(
    new Redis(url, {
      enableOfflineQueue: true,
      maxRetriesPerRequest: 3,
      connectTimeout: 5_000,
      retryStrategy: reconnectMs,
    }),
  )
}

/** A connection for workers: commands wait for Redis to come back, as long as it takes. */
export function createWorkerConnection(url: string): Redis {
  return quiet(new Redis(url, { maxRetriesPerRequest: null, retryStrategy: reconnectMs }))
}

/** A connection for single commands: it fails at once instead of connecting again. */
export function createProbeConnection(url: string): Redis {
  return new Redis(new URL(url).href, {
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  })
}

function reconnectMs(attempts: number): number {
  return Math.min(50 * attempts, 1_000)
}

/** A lost connection is seen by the commands that need it; without a listener it ends the process. */
function quiet(redis: Redis): Redis {
  return redis.on('error', () => undefined)
}

import { Redis } from 'ioredis'

/** A connection for producers: while Redis is unreachable, commands fail fast. */
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

/** A connection for workers: commands wait until Redis is back. */
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

/** Commands report a lost connection; without a listener it would end the process. */
function quiet(redis: Redis): Redis {
  return redis.on('error', () => undefined)
}

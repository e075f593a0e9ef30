import { Redis } from 'ioredis'
import { redisOptionsOf } from './redis-url.js'

/** A connection for producers: while Redis is unreachable, commands fail fast. */
export function createProducerConnection(url: string): Redis {
  return quiet(
    new Redis({
      ...redisOptionsOf(url),
      enableOfflineQueue: true,
      maxRetriesPerRequest: 3,
      connectTimeout: 5_000,
      retryStrategy: reconnectMs,
    }),
  )
}

/** A connection for workers: commands wait until Redis is back. */
export function createWorkerConnection(url: string): Redis {
  const options = redisOptionsOf(url)
  return quiet(new Redis({ ...options, maxRetriesPerRequest: null, retryStrategy: reconnectMs }))
}

/** A connection for single commands: it fails at once instead of connecting again. */
export function createProbeConnection(url: string): Redis {
  return new Redis({
    ...redisOptionsOf(url),
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
  })
}

function reconnectMs(attempts: number): number {
  return Math.min(50 * attempts, 1_000)
}

/** Commands report a lost connection; without a listener it would end the process. */
function quiet(redis: Redis): Redis {
  return redis.on('error', () => undefined)
}

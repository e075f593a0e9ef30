import { withDeadline } from '../../pipeline/deadline.js'
import { createProbeConnection } from '../../pipeline/queues/redis.js'
import { Fault } from '../../schemas/fault.js'

const answerMsMax = 3_000

/**
 * Sends one command to the Redis of a `redis://` or `rediss://` URL over a connection of its own.
 * Throws `QUEUE_UNREACHABLE` for an error, or when no reply arrives within 3 seconds; the message
 * never contains the password.
 */
export async function askRedis(
  url: string,
  command: string,
  ...args: readonly string[]
): Promise<string> {
  const redis = createProbeConnection(url)
  let failure: Error | undefined
  redis.on('error', (error: Error) => {
    failure ??= error
  })
  try {
    const answer = redis.connect().then(() => redis.call(command, ...args))
    return String(
      await withDeadline(answer, answerMsMax, () => {
        throw new Error('no reply within 3 seconds')
      }),
    )
  } catch (cause) {
    const { message } = failure ?? (cause instanceof Error ? cause : new Error(String(cause)))
    throw new Fault('QUEUE_UNREACHABLE', `Redis at ${new URL(url).host}: ${message}`, { cause })
  } finally {
    redis.disconnect()
  }
}

/**
 * Checks that a Redis answers and never evicts keys: `maxmemory-policy` is `noeviction`. Throws
 * `QUEUE_UNREACHABLE`, or `CONFIG` with the setting to change.
 */
export async function checkRedis(url: string): Promise<void> {
  const memory = await askRedis(url, 'INFO', 'memory')
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1]
  if (policy === 'noeviction') return
  const detail = `Redis at ${new URL(url).host} has maxmemory-policy ${policy ?? 'unknown'}`
  throw new Fault('CONFIG', `${detail} and may drop jobs; set it to noeviction`)
}

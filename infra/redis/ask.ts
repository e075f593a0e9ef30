import { withDeadline } from '../../pipeline/deadline.js'
import { createProbeConnection } from '../../pipeline/queues/redis.js'
import { redisOptionsOf, shownRedisUrl } from '../../pipeline/queues/redis-url.js'
import { Fault } from '../../schemas/fault.js'

const answerMsMax = 3_000

/**
 * Sends one command to the Redis of a URL, over a connection of its own.
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
    const detail = `Redis at ${shownRedisUrl(url)}: ${message}; ${remedyOf(message)}`
    throw new Fault('QUEUE_UNREACHABLE', detail, { cause })
  } finally {
    redis.disconnect()
  }
}

/** An error of Redis begins with its kind. */
function remedyOf(message: string): string {
  return /^(WRONGPASS|NOAUTH|NOPERM) /.test(message)
    ? 'fix the user or the password of REDIS_URL, or the rights of the user in Redis'
    : 'check that it is up and that its address is right'
}

/**
 * Checks that a Redis answers, has the database of the URL, is one server that takes writes, and never evicts keys:
 * `maxmemory-policy` is `noeviction`. Throws `QUEUE_UNREACHABLE`, or `CONFIG` with what to change.
 */
export async function checkRedis(url: string): Promise<void> {
  const { db } = redisOptionsOf(url)
  // A connection reports a database that it cannot select, then goes on with the first one.
  if (db) await askRedis(url, 'SELECT', String(db))
  const info = await askRedis(url, 'INFO')
  const fieldOf = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1] ?? 'unknown'
  const wrong = wrongOf(fieldOf)
  if (wrong !== undefined) throw new Fault('CONFIG', `Redis at ${shownRedisUrl(url)} ${wrong}`)
}

/** What keeps queues from working on a server, and the remedy. */
function wrongOf(fieldOf: (name: string) => string): string | undefined {
  const mode = fieldOf('redis_mode')
  if (mode === 'cluster' || fieldOf('cluster_enabled') === '1') {
    return 'is a node of a Redis Cluster, which divides the keys of a queue; set REDIS_URL to a single server'
  }
  if (mode === 'sentinel') return 'is a Sentinel; set REDIS_URL to redis+sentinel://HOST:PORT/NAME'
  const role = fieldOf('role')
  if (role !== 'master')
    return `has the role ${role} and takes no writes; set REDIS_URL to its primary`
  const policy = fieldOf('maxmemory_policy')
  if (policy === 'noeviction') return undefined
  return `has maxmemory-policy ${policy} and may drop jobs; set it to noeviction`
}

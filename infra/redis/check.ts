import { Fault } from '../../schemas/fault.js'
import { askRedis } from './ask.js'

/**
 * Proves that a Redis keeps what it is given: it answers, and `maxmemory-policy` is `noeviction`.
 * Throws `QUEUE_UNREACHABLE`, or `CONFIG` with the setting to change.
 */
export async function checkRedis(url: string): Promise<void> {
  const memory = await askRedis(url, 'INFO', 'memory')
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1]
  if (policy === 'noeviction') return
  throw new Fault(
    'CONFIG',
    `Redis at ${new URL(url).host} has maxmemory-policy ${policy ?? 'unknown'} and may drop jobs; set it to noeviction`,
  )
}

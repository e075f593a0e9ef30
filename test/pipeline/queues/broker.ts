import type { Queue } from 'bullmq'
import type { Test } from 'tap'
import { createRedis } from '../../../infra/redis/start.js'
import { onFreePort } from '../../../infra/stack/port.js'
import {
  type ConsumerOptions,
  createConsumer,
  createQueues,
  type Queues,
} from '../../../pipeline/queues/bullmq.js'
import type { JobIds, JobName } from '../../../pipeline/queues/jobs.js'
import { anyPort } from '../../rig/any-port.js'
import { createFolder } from '../../rig/folder.js'

/** A Redis of its own, closed with the test. */
export async function createBroker(t: Test) {
  const dataPath = createFolder(t)
  const redis = await onFreePort(anyPort(), (port) =>
    createRedis({ dataPath, port, password: 'secret' }),
  )
  t.teardown(() => redis.close())
  let prefixes = 0
  /** Queues of a prefix, by default of one of their own, closed with the test. */
  const newQueues = (t: Test, prefix = `queues${++prefixes}`) => {
    const options = { redisUrl: redis.url, prefix }
    const queues = createQueues(options)
    t.teardown(() => queues.close())
    return { options, queues }
  }
  return { redis, newQueues }
}

/** The queue of BullMQ, for jobs that are not added as the product does. */
export function ofName(queues: Queues, name: JobName): Queue {
  const found = queues.each.find((one) => one.name === name)
  if (found === undefined) throw new Error(`unknown queue ${name}`)
  return found
}

interface Failed {
  readonly ids: JobIds
  readonly error: unknown
}

/** A consumer that writes down its failures, closed with the test. */
export function consume<N extends JobName>(
  t: Test,
  options: Pick<ConsumerOptions<N>, 'redisUrl' | 'prefix' | 'name' | 'run'>,
) {
  const failed: Failed[] = []
  const givenUp: unknown[] = []
  const consumer = createConsumer<N>({
    ...options,
    concurrency: 1,
    attemptsMax: 3,
    fail: async (data) => void givenUp.push(data),
    onFailure: (ids, error) => void failed.push({ ids, error }),
    onDone: () => undefined,
  })
  t.teardown(() => consumer.close())
  return { failed, givenUp }
}

import { createConsumer } from '../../../pipeline/queues/bullmq.js'

/** A worker that never ends its cleaning: it is killed in the middle. */
const [redisUrl = '', prefix = ''] = process.argv.slice(2)
createConsumer({
  name: 'retain',
  redisUrl,
  prefix,
  concurrency: 1,
  attemptsMax: 1,
  run: async (data) => {
    process.send?.(data)
    await new Promise(() => undefined)
  },
  fail: async () => undefined,
  onFailure: () => undefined,
  onDone: () => undefined,
})

import { appendFileSync } from 'node:fs'
import { serveParent } from '../../../../infra/stack/processes/serve-parent.js'
import { createConsumer } from '../../../../pipeline/queues/bullmq.js'

export interface EndlessOptions {
  readonly redisUrl: string
  readonly prefix: string
  /** Gets a line for each run. */
  readonly runsPath: string
  /** Whether the job never ends. */
  readonly isEndless: boolean
}

/** A worker of one queue, as the real one is served, with a job that may never end. */
serveParent<EndlessOptions>('endless', async ({ redisUrl, prefix, runsPath, isEndless }) => {
  const { close } = createConsumer({
    name: 'settle',
    redisUrl,
    prefix,
    concurrency: 1,
    attemptsMax: 1,
    run: async ({ arrival }) => {
      appendFileSync(runsPath, `${arrival}\n`)
      if (isEndless) await new Promise(() => undefined)
    },
    fail: async () => undefined,
    onFailure: () => undefined,
    onDone: () => appendFileSync(runsPath, 'done\n'),
  })
  return { close }
})

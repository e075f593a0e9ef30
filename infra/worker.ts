import { createWorker } from '../pipeline/worker.js'
import { Fault } from '../schemas/fault.js'
import { createLog } from './log.js'
import type { WorkerAnswer, WorkerRequest } from './worker-process.js'

/**
 * The worker's process: it waits for its options from its parent, runs until it is told to stop,
 * and ends at once when its parent is gone.
 */
async function start(request: Extract<WorkerRequest, { type: 'start' }>): Promise<void> {
  const log = createLog(request.logPath, 'worker')
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'the worker broke')
    process.exit(1)
  })
  try {
    const worker = await createWorker({ ...request.options, log })
    stop = () => worker.close()
    answer({ type: 'ready' })
  } catch (error) {
    log.fatal({ err: error }, 'the worker did not start')
    const { code, detail } =
      error instanceof Fault ? error : { code: undefined, detail: String(error) }
    answer({ type: 'failed', code, detail })
  }
}

let stop: () => Promise<void> = async () => undefined

function answer(message: WorkerAnswer): void {
  process.send?.(message)
}

process.on('disconnect', () => process.exit(1))
process.on('message', (request: WorkerRequest) => {
  if (request.type === 'start') void start(request)
  else void stop().then(() => process.exit(0))
})

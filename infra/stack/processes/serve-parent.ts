import { withDeadline } from '../../../pipeline/deadline.js'
import { Fault } from '../../../schemas/fault.js'
import { createLog, type Log } from '../../telemetry/log.js'
import type { ChildAnswer, ChildRequest } from './child.js'

export interface Served {
  /** State to report to the parent. */
  readonly detail?: unknown
  close(): Promise<void>
}

/** Tools of a child process. */
export interface ChildTools {
  readonly log: Log
  /** Shows a line to the user of the parent process. */
  readonly notify: (text: string) => void
}

/**
 * The child's side of `createChild`: it waits for the options of its parent, runs until the parent
 * stops it, and exits immediately if the parent ends. SIGTERM completes what it has begun, too, within
 * the time of a stop; then the parent starts it again.
 */
export function serveParent<O>(
  name: string,
  create: (options: O, tools: ChildTools) => Promise<Served>,
): void {
  let stop: () => Promise<unknown> = async () => undefined
  const answer = (message: ChildAnswer): void => void process.send?.(message)
  const notify = (text: string): void => answer({ type: 'message', text })
  const start = async (request: Extract<ChildRequest<O>, { type: 'start' }>): Promise<void> => {
    const log = createLog(request.logPath, name)
    process.on('uncaughtException', (error) => {
      log.fatal({ err: error }, `the ${name} crashed`)
      process.exit(1)
    })
    try {
      const { close, detail } = await create(request.options, { log, notify })
      const { stopMsMax } = request
      const late = () => {
        log.warn(`ended after ${stopMsMax} ms with work that is not complete`)
        process.exit(1)
      }
      stop = () => withDeadline(close(), stopMsMax, late)
      answer({ type: 'ready', detail })
    } catch (error) {
      log.fatal({ err: error }, `the ${name} did not start`)
      const { code, detail } =
        error instanceof Fault ? error : { code: undefined, detail: String(error) }
      answer({ type: 'failed', code, detail })
    }
  }
  let isEnding = false
  const end = (): void => {
    if (isEnding) return
    isEnding = true
    void stop().then(() => process.exit(0))
  }
  process.on('SIGTERM', end)
  process.on('disconnect', () => process.exit(1))
  process.on('message', (request: ChildRequest<O>) => {
    if (request.type === 'start') void start(request)
    else end()
  })
}

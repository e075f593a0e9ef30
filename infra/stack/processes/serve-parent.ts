import { Fault } from '../../../schemas/fault.js'
import { createLog, type Log } from '../../telemetry/log.js'
import type { ChildAnswer, ChildRequest } from './child.js'

export interface Served {
  /** What the parent is told. */
  readonly detail?: unknown
  close(): Promise<void>
}

/** What a child is given besides its options. */
export interface ChildTools {
  readonly log: Log
  /** Says a line where a person sees it who watches the parent. */
  readonly notify: (text: string) => void
}

/**
 * The child's side of `createChild`: it waits for its options from its parent, runs until it is told
 * to stop, and ends at once when its parent is gone.
 */
export function serveParent<O>(
  name: string,
  create: (options: O, tools: ChildTools) => Promise<Served>,
): void {
  let stop: () => Promise<void> = async () => undefined
  const answer = (message: ChildAnswer): void => void process.send?.(message)
  const notify = (text: string): void => answer({ type: 'message', text })
  const start = async (request: Extract<ChildRequest<O>, { type: 'start' }>): Promise<void> => {
    const log = createLog(request.logPath, name)
    process.on('uncaughtException', (error) => {
      log.fatal({ err: error }, `the ${name} broke`)
      process.exit(1)
    })
    try {
      const { close, detail } = await create(request.options, { log, notify })
      stop = close
      answer({ type: 'ready', detail })
    } catch (error) {
      log.fatal({ err: error }, `the ${name} did not start`)
      const { code, detail } =
        error instanceof Fault ? error : { code: undefined, detail: String(error) }
      answer({ type: 'failed', code, detail })
    }
  }
  process.on('disconnect', () => process.exit(1))
  process.on('message', (request: ChildRequest<O>) => {
    if (request.type === 'start') void start(request)
    else void stop().then(() => process.exit(0))
  })
}

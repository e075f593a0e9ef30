import { Fault } from '../../schemas/fault.js'
import { withDeadline } from '../deadline.js'

/** Runs commands of Redis; where they fail or get no answer in time, that is a passing fault. */
export type Reach = <T>(run: () => Promise<T>) => Promise<T>

/** Without a limit a command would wait for ever for a connection. */
const reachMsMax = 10_000

export const reach: Reach = async (run) => {
  try {
    return await withDeadline(run(), reachMsMax, () => {
      throw new Error(`no response in ${reachMsMax / 1_000} s`)
    })
  } catch (error) {
    const detail = `Redis command failed (${reasonOf(error)})`
    throw new Fault('QUEUE_UNREACHABLE', detail, { cause: error })
  }
}

/** The client names its own option where it has no connection. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.name === 'MaxRetriesPerRequestError'
    ? 'no connection'
    : error.message.replace(/\.$/, '')
}

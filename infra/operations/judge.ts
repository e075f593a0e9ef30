import { Fault, faultCodes } from '../../schemas/fault.js'
import { keepFor, withTimeout } from '../metrics/collect.js'
import { failureCode } from '../metrics/registry.js'

/** The error as the page shows it. */
export type Judge = (error: unknown) => Promise<unknown>

const pingMsMax = 3_000
/** As long as the watchdog of the engine gives a server that accepts connections and answers nothing. */
const silentMsMax = 30_000
/** One ping answers for all panels that fail together. */
const pingMs = 1_000

/**
 * Distinguishes a busy ClickHouse from an unreachable one: a query without an answer in time is
 * `STORE_BUSY` as long as the server answers a ping. A machine with much to do answers even that late, so
 * only a refused ping, or silence for 30 seconds, is `STORE_UNREACHABLE`.
 */
export function createJudge(
  ping: () => Promise<boolean>,
  { msMax = pingMsMax, keptMs = pingMs, now = () => performance.now() } = {},
): Judge {
  const silence = { since: 0, until: Number.NEGATIVE_INFINITY }
  const answers = keepFor(keptMs, async () => {
    const answer = await withTimeout(ping(), msMax).catch(() => undefined)
    if (answer !== undefined) {
      silence.until = Number.NEGATIVE_INFINITY
      return answer
    }
    const at = now()
    if (at - silence.until > silentMsMax) silence.since = at
    silence.until = at
    return at - silence.since < silentMsMax
  })
  return async (error) => {
    if (!(error instanceof Fault)) return error
    const { code, detail } = error
    if (code !== 'STORE_UNREACHABLE' && code !== 'OVERLOAD') return error
    const now = (await answers()) ? 'STORE_BUSY' : 'STORE_UNREACHABLE'
    return now === code ? error : new Fault(now, detail, { cause: error })
  }
}

/** A fault for the page. */
export interface ShownFault {
  readonly code: string
  readonly detail: string
  /** What is wrong with a server, which the page reports once for all panels. */
  readonly server?: string
}

export function showFault(error: unknown): ShownFault {
  const code = failureCode(error)
  const server = servers.get(code)
  return { code, detail: messageOf(error), ...(server !== undefined && { server }) }
}

/** The text of an error for the page, without the statement that a fault of the store names. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Fault)) return 'unexpected error; see worker.log'
  return error.code.startsWith('STORE_') ? faultCodes[error.code].meaning : error.detail
}

const servers: ReadonlyMap<string, string> = new Map([
  ['STORE_BUSY', 'ClickHouse is busy'],
  ['STORE_UNREACHABLE', 'ClickHouse does not answer'],
  ['QUEUE_UNREACHABLE', 'Redis does not answer'],
])

import { Fault } from '../schemas/fault.js'

export interface BudgetOptions {
  /** Milliseconds of this process's only thread that refused tokens may cost in a second. */
  readonly msPerSecond: number
  /**
   * Milliseconds of it that one refused token costs at most. The first ones after a start are slow, as
   * their code is compiled then, and a displaced thread is slow too: neither may lock out good tokens.
   */
  readonly msEachMax: number
  /** For tests: milliseconds, of both clocks. */
  readonly now?: (() => number) | undefined
}

/**
 * A limit for the processor time of tokens that prove nothing. Accepted tokens cost nothing of it.
 * While it is spent, `run` throws `OVERLOAD` without running anything: an outage, not a refusal, and
 * a client whose token is good may try again. A second's budget can be spent at once.
 */
export function createBudget({ msPerSecond, msEachMax, now: given }: BudgetOptions) {
  const now = given ?? (() => performance.now())
  const used = given ?? processorMs
  let left = msPerSecond
  let at = now()
  return <T>(run: () => T, isRefused: (outcome: T) => boolean): T => {
    const from = now()
    left = Math.min(msPerSecond, left + ((from - at) / 1_000) * msPerSecond)
    at = from
    if (left <= 0) {
      const detail = `refused tokens have used ${msPerSecond} ms of processor time in a second`
      throw new Fault('OVERLOAD', detail)
    }
    const usedBefore = used()
    const outcome = run()
    // A thread that others have displaced has used less than the time that passed.
    if (isRefused(outcome)) left -= Math.min(now() - from, used() - usedBefore, msEachMax)
    return outcome
  }
}

function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

import { Fault } from '../../schemas/fault.js'
import type { Ami } from './ami.js'

/** A head-end with a count of its failures. */
export interface WatchedAmi extends Ami {
  /** Consecutive calls without a response. */
  failures(): number
}

/** Counts the failures of a driver. There is no circuit breaker: an action must reach the meter. */
export function watchAmi(ami: Ami): WatchedAmi {
  let failures = 0
  const watch = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      const answer = await asked
      failures = 0
      return answer
    } catch (error) {
      if (error instanceof Fault && error.code === 'AMI_UNREACHABLE') failures++
      throw error
    }
  }
  return {
    locate: (accountSlid) => watch(ami.locate(accountSlid)),
    meter: (meterId) => watch(ami.meter(meterId)),
    act: (action) => watch(ami.act(action)),
    failures: () => failures,
    close: () => ami.close(),
  }
}

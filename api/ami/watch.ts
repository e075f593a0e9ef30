import { Fault } from '../../schemas/fault.js'
import type { Ami } from './ami.js'

/** A head-end with what is known of how it answers. */
export interface WatchedAmi extends Ami {
  /** Calls without an answer since the last that had one. */
  failures(): number
}

/** Stands before a driver and counts; unlike the CIS a head-end is asked whatever it did before. */
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

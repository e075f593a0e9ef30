import { Fault } from '../../schemas/fault.js'
import type { Cis, CisRecord } from './cis.js'

export interface GuardOptions {
  readonly breakerFailures: number
  readonly breakerSeconds: number
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A CIS with what is known of how it answers. */
export interface GuardedCis extends Cis {
  /** Failures in a row, and whether it is not asked for them. */
  breaker(): { readonly failures: number; readonly isOpen: boolean }
}

/**
 * Stands before a driver: a customer that is asked for by several at once is fetched once, and after
 * `breakerFailures` failures in a row nobody asks for `breakerSeconds`, after which one tries first.
 */
export function guardCis(cis: Cis, options: GuardOptions): GuardedCis {
  const { breakerFailures, breakerSeconds, now } = options
  const fetching = new Map<string, Promise<CisRecord | undefined>>()
  let failures = 0
  let openUntil = 0
  let isTrying = false
  const attempt = async (clientId: string): Promise<CisRecord | undefined> => {
    if (failures >= breakerFailures) {
      if (isTrying || now() < openUntil) {
        const detail = `not asked, since it failed ${failures} times in a row`
        throw new Fault('CIS_UNREACHABLE', detail)
      }
      isTrying = true
    }
    try {
      const record = await cis.fetch(clientId)
      failures = 0
      return record
    } catch (error) {
      if (error instanceof Fault && error.code === 'CIS_UNREACHABLE') {
        failures++
        openUntil = now() + breakerSeconds * 1_000
      }
      throw error
    } finally {
      isTrying = false
    }
  }
  return {
    fetch: (clientId) => {
      const known = fetching.get(clientId)
      if (known !== undefined) return known
      const fetched = attempt(clientId).finally(() => fetching.delete(clientId))
      fetching.set(clientId, fetched)
      return fetched
    },
    breaker: () => ({ failures, isOpen: failures >= breakerFailures && now() < openUntil }),
    close: () => cis.close(),
  }
}

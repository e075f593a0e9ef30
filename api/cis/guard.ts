import { Fault } from '../../schemas/fault.js'
import { createSingleFlight } from '../single-flight.js'
import type { Cis, CisRecord } from './cis.js'

export interface GuardOptions {
  readonly breakerFailures: number
  readonly breakerSeconds: number
  /** Milliseconds since any instant. */
  readonly now: () => number
}

/** A CIS behind a circuit breaker. */
export interface GuardedCis extends Cis {
  /** Consecutive failures, and whether the breaker is open. */
  breaker(): { readonly failures: number; readonly isOpen: boolean }
}

/**
 * Protects a driver: concurrent requests for a customer share one fetch. After `breakerFailures`
 * consecutive failures the breaker opens for `breakerSeconds`, then lets one trial request through.
 */
export function guardCis(cis: Cis, options: GuardOptions): GuardedCis {
  const { breakerFailures, breakerSeconds, now } = options
  const share = createSingleFlight<CisRecord | undefined>()
  let failures = 0
  let last = ''
  let openUntil = 0
  let isTrying = false
  const attempt = async (clientId: string): Promise<CisRecord | undefined> => {
    if (failures >= breakerFailures) {
      if (isTrying || now() < openUntil) {
        const pause = `not called for up to ${breakerSeconds} s after ${failures} failures in a row`
        throw new Fault('CIS_UNREACHABLE', `${last}; ${pause}`)
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
        last = error.detail
        openUntil = now() + breakerSeconds * 1_000
      }
      throw error
    } finally {
      isTrying = false
    }
  }
  return {
    fetch: (clientId) => share(clientId, () => attempt(clientId)),
    breaker: () => ({ failures, isOpen: failures >= breakerFailures && now() < openUntil }),
    close: () => cis.close(),
  }
}

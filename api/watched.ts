import type { Systems } from '../pipeline/ledger/systems.js'
import type { Ami } from './ami/ami.js'
import type { Cis } from './cis/cis.js'

/** A CIS whose outcomes are reported; a request that the breaker refuses fails too. */
export function watchCis(cis: Cis, { watch }: Pick<Systems, 'watch'>): Cis {
  return { fetch: (clientId) => watch('cis', cis.fetch(clientId)), close: cis.close }
}

/** The same for a head-end. It has no circuit breaker: an action must reach the meter. */
export function watchAmi(ami: Ami, { watch }: Pick<Systems, 'watch'>): Ami {
  return {
    locate: (accountSlid) => watch('ami', ami.locate(accountSlid)),
    meter: (meterId) => watch('ami', ami.meter(meterId)),
    act: (action) => watch('ami', ami.act(action)),
    close: ami.close,
  }
}

import { type Act, type Actor, recordActs } from '../../pipeline/ledger/audit.js'
import { runTogether } from '../../pipeline/queues/together.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import type { Action } from './actions.js'

/** In one insert and under numbers in succession: gateways that record one by one wait for each other. */
const actsTogether = 100

/** Records an action before it is sent to the head-end; its hub is stored with the action. */
export function createBindAudit(store: Store): (who: string, action: Action) => Promise<void> {
  const record = runTogether<Actor & Act>(async (acts) => {
    await recordActs(store, acts)
  }, actsTogether)
  return (who, { actionCode, meterId, claim: subject }) => {
    const detail = `${actionCode === 1 ? 'bind' : 'unbind'} at meter ${meterId}`
    return record({ who, via: 'gateway', act: 'bind', subject, detail })
  }
}

import { type Act, type Actor, recordActs } from '../../pipeline/ledger/audit.js'
import { runTogether } from '../../pipeline/queues/together.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { type Action, togetherInBinds } from './actions.js'

/**
 * Records an action before it is sent to the head-end; its hub is stored with the action. Those that come at once
 * are recorded under numbers in succession: one by one they would wait for each other.
 */
export function createBindAudit(store: Store): (who: string, action: Action) => Promise<void> {
  const record = runTogether<Actor & Act>(async (acts) => {
    await recordActs(store, acts)
  }, togetherInBinds)
  return (who, { actionCode, meterId, claim: subject }) => {
    const detail = `${actionCode === 1 ? 'bind' : 'unbind'} at meter ${meterId}`
    return record({ who, via: 'gateway', act: 'bind', subject, detail })
  }
}

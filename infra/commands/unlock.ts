import { unlockCustomer } from '../../api/access/attempts.js'
import { recordAct } from '../../pipeline/ledger/audit.js'
import { createStore } from '../../pipeline/store/clickhouse.js'
import { commandActor } from '../stack/actor.js'
import { type Context, exitCodes } from './context.js'
import { useData } from './use-stack.js'

/** Unlocks a customer; gateways apply it within seconds. */
export async function unlockCommand(context: Context, clientId: string): Promise<number> {
  const wasLocked = await useData(context, 'unlock', async (stack) => {
    const store = createStore(stack.store)
    try {
      const act = { act: 'unlock', subject: clientId, detail: '' } as const
      await recordAct(store, commandActor(), act)
      return await unlockCustomer(store, clientId, new Date())
    } finally {
      await store.close()
    }
  })
  context.print(wasLocked ? `${clientId} is unlocked` : `${clientId} is not locked here`)
  return exitCodes.good
}

import { endClients } from '../../pipeline/customers/registrations.js'
import { recordActs } from '../../pipeline/ledger/audit.js'
import { createStore } from '../../pipeline/store/clickhouse.js'
import { createZone } from '../../schemas/time/zone.js'
import { commandActor } from '../stack/actor.js'
import { type Context, exitCodes } from './context.js'
import { useData } from './use-stack.js'

/** Ends the registrations of clients who left the platform; their reads are kept (decision 11). */
export async function unregisterCommand(
  context: Context,
  clientIds: readonly string[],
): Promise<number> {
  const named = [...new Set(clientIds)]
  const ended = await useData(context, 'unregister', async (stack) => {
    const store = createStore(stack.store)
    const { profile } = stack
    const zone = createZone(profile.timeZone)
    const act = { ...commandActor(), act: 'unregister', detail: '' } as const
    try {
      await recordActs(
        store,
        named.map((subject) => ({ ...act, subject })),
      )
      return await endClients({ store, profile, zone, now: () => new Date() }, named, 'left')
    } finally {
      await store.close()
    }
  })
  context.print(`${ended} of ${named.length} clients were registered and are not any more`)
  return exitCodes.good
}

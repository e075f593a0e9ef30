import { setTimeout as sleep } from 'node:timers/promises'
import { createLedger, type Ledger } from '../../pipeline/ledger/ledger.js'
import {
  findReplacement,
  orderReprocess,
  type ReprocessAct,
  reprocessed,
} from '../../pipeline/steps/reprocess.js'
import { Fault } from '../../schemas/fault.js'
import { commandActor } from '../stack/actor.js'
import { withQueues, withStore } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { followFiles } from './output/follow.js'
import { renderReceipts } from './output/receipts.js'
import { type InUse, useData } from './use-stack.js'

/**
 * Reprocesses a quarantined file and waits for its receipt. `retry` validates it again, `accept`
 * publishes its valid rows as well. The exit code is 0 if it is published, else 2.
 */
export function reprocessCommand(act: ReprocessAct) {
  return async (context: Context, file: string): Promise<number> => {
    const [followed] = await useData(context, act, async (stack) => {
      const { name, bytes, arrive } = await order(stack, act, file)
      const files = [{ name, bytes, arrive: () => arrive(context.ending) }]
      return followFiles(stack, files, context.say)
    })
    const receipt = followed?.receipt
    context.print(receipt === undefined ? '' : renderReceipts([receipt]))
    return receipt?.status === 'published' ? exitCodes.good : exitCodes.quarantined
  }
}

const lookMs = 250

async function order(stack: InUse, act: ReprocessAct, file: string) {
  const { arrival, name, bytes } = await withStore(stack.store, async (store) => {
    const ledger = createLedger(store, () => new Date())
    const found = await findFile(ledger, file)
    const about = { arrival: found.arrival, act }
    await withQueues(stack, (queues) =>
      orderReprocess({ store, ledger, queues, folders: stack.home }, commandActor(), about),
    )
    return found
  })
  return { name, bytes, arrive: (ending: AbortSignal) => waitFor(stack, arrival, ending) }
}

/** The new arrival of the file. Throws `FILE_STATE` if a newer file was published. */
function waitFor(stack: InUse, arrival: number, ending: AbortSignal): Promise<number> {
  return withStore(stack.store, async (store) => {
    const ledger = createLedger(store, () => new Date())
    for (;;) {
      const replaced = await findReplacement({ store, ledger }, arrival)
      const again = (await reprocessed({ store, ledger }, arrival))?.arrival
      if (again !== undefined) return again
      if (replaced !== undefined) throw new Fault('FILE_STATE', replaced)
      await sleep(lookMs, undefined, { signal: ending })
    }
  })
}

/** The file with an arrival number, or the latest file with a name. */
async function findFile(ledger: Ledger, file: string) {
  const number = /^[1-9]\d{0,8}$/.test(file) ? Number(file) : undefined
  const found =
    number === undefined ? await ledger.latest({ name: file }) : await ledger.arrival(number)
  if (found !== undefined) return found
  throw new Fault('FILE_STATE', `${file} not found; run tieline status to list quarantined files`)
}

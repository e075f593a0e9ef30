import { createLedger } from '../../pipeline/ledger/ledger.js'
import { buildDaysAgain } from '../../pipeline/usage/days/build.js'
import { dropDetached, orderRepair } from '../../pipeline/verify/repair.js'
import { commandActor } from '../stack/actor.js'
import { withQueues, withStore } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { followFiles } from './output/follow.js'
import { renderReceipts } from './output/receipts.js'
import { printable } from './output/table.js'
import { type InUse, useData } from './use-stack.js'
import { verifyData } from './verify.js'

/**
 * Brings missing rows back from the archive, one file after the other in the order of their arrival, and
 * verifies again. The exit code is 1 if something is still missing, which is then named. A repair that
 * was interrupted is finished by the next one.
 */
export async function repairCommand(context: Context): Promise<number> {
  return useData(context, 'repair', async (stack) => {
    const before = await look(stack)
    const rows = before.filter(({ kind }) => kind === 'rows')
    const obstacles: string[] = []
    for (const { arrival } of rows.sort((a, b) => a.arrival - b.arrival)) {
      const obstacle = await repairOne(context, stack, arrival)
      if (obstacle !== undefined) obstacles.push(obstacle)
    }
    let after = rows.length === 0 ? before : await look(stack)
    const days = after.filter(({ kind }) => kind === 'days').map(({ subject }) => subject)
    if (days.length > 0) {
      await withStore(stack.store, (store) => buildDaysAgain(store, days))
      after = await look(stack)
    }
    const isWhole = after.every(({ kind }) => kind === 'part' || kind === 'chunk')
    if (obstacles.length === 0 && isWhole && before.some(({ kind }) => kind === 'part')) {
      await withStore(stack.store, (store) => dropDetached(store, before))
      after = await look(stack)
    }
    for (const text of [...obstacles, ...after.map(({ detail }) => detail)]) {
      context.print(`✗ ${printable(text)}`)
    }
    if (after.length > 0) return exitCodes.fault
    context.print(
      rows.length + days.length === 0 ? '✓ nothing is missing' : '✓ every row is there again',
    )
    return exitCodes.good
  })
}

const look = async (stack: InUse) => (await verifyData(stack, { files: false })).damage

/** Why an arrival could not be repaired; undefined if its file was published again. */
async function repairOne(
  context: Context,
  stack: InUse,
  arrival: number,
): Promise<string | undefined> {
  const repair = await withStore(stack.store, (store) => {
    const ledger = createLedger(store, () => new Date())
    const { home: folders } = stack
    const { machine } = folders
    return withQueues(stack, (queues) =>
      orderRepair({ store, ledger, queues, folders, machine }, commandActor(), arrival),
    )
  })
  if ('obstacle' in repair) return repair.obstacle
  const { name, bytes } = repair
  const files = [{ name, bytes, arrive: async () => repair.arrival }]
  const [followed] = await followFiles(stack, files, context.say)
  if (followed === undefined) return `${name} (arrival ${arrival}) did not come in`
  context.print(renderReceipts([followed.receipt]))
  const { status, reason } = followed.receipt
  return status === 'published' ? undefined : `${name} (arrival ${arrival}): ${reason}`
}

import { unlockAll, unlockCustomer } from '../../api/access/attempts.js'
import { recordAct } from '../../pipeline/ledger/audit.js'
import { Fault } from '../../schemas/fault.js'
import { commandActor } from '../stack/actor.js'
import { type Context, exitCodes } from './context.js'
import { grouped } from './output/table.js'
import { useStore } from './use-stack.js'

export interface UnlockOptions {
  readonly all: boolean
  /** An instant: only customers who were locked at or after it. */
  readonly since?: string
}

/** Unlocks one customer or all of them; gateways apply it within seconds. */
export async function unlockCommand(
  context: Context,
  clientId: string | undefined,
  options: UnlockOptions,
): Promise<number> {
  const { since } = options
  if ((clientId === undefined) !== options.all || (since !== undefined && !options.all)) {
    throw new Fault('CONFIG', 'name one client, or use --all, with or without --since INSTANT')
  }
  const from = since === undefined ? undefined : toInstant(since)
  const text = await useStore(context, 'unlock', async (store) => {
    const detail = options.all ? `all${since === undefined ? '' : ` since ${since}`}` : ''
    await recordAct(store, commandActor(), { act: 'unlock', subject: clientId ?? '', detail })
    if (clientId === undefined) {
      const count = await unlockAll(store, { since: from, now: new Date() })
      return `${grouped(count)} customers are unlocked`
    }
    const wasLocked = await unlockCustomer(store, clientId, new Date())
    return wasLocked ? `${clientId} is unlocked` : `${clientId} is not locked here`
  })
  context.print(text)
  return exitCodes.good
}

function toInstant(text: string): Date {
  const at = new Date(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : Number.NaN)
  if (!Number.isNaN(at.getTime())) return at
  throw new Fault('CONFIG', `--since ${text}: write an instant such as 2026-11-22T14:00:00Z`)
}

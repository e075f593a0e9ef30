import { recordFailure, recordPause } from '../../pipeline/sources/state.js'
import { Fault } from '../../schemas/fault.js'
import { withStore } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { type InUse, useData } from './use-stack.js'

/** Stops polling a source until it is resumed. Files already received are processed. */
export async function pause(context: Context, source: string): Promise<number> {
  await change(context, { source, active: true })
  context.print(`${source} is paused; run tieline resume ${source} to poll it again`)
  return exitCodes.good
}

/** Polls a source again; a failing source is polled at once. */
export async function resume(context: Context, source: string): Promise<number> {
  await change(context, { source, active: false })
  context.print(`${source} is polled again`)
  return exitCodes.good
}

function change(
  context: Context,
  { source, active }: { readonly source: string; readonly active: boolean },
): Promise<void> {
  return useData(context, active ? 'pause' : 'resume', async (stack) => {
    refuseUnknown(stack, source)
    await withStore(stack.store, async (store) => {
      await recordPause(store, source, { active, at: new Date() })
      if (!active) await recordFailure(store, source, undefined)
    })
  })
}

function refuseUnknown({ profile }: InUse, source: string): void {
  const names = profile.sources.map(({ name }) => name)
  if (names.includes(source)) return
  throw new Fault('CONFIG', `the profile has no source ${source}; use one of ${names.join(', ')}`)
}

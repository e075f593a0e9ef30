import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../schemas/fault.js'
import type { Profile } from '../schemas/profile.js'
import type { Addresses } from './addresses.js'
import type { Context } from './context.js'
import { type Home, openHome } from './home.js'
import { createLog } from './log.js'
import { profilePathOf, readOwnProfile, rememberProfile } from './profile-file.js'
import { attachStack, type Stack, startStack } from './stack.js'

export interface InUse extends Addresses {
  readonly home: Home
  readonly profile: Profile
}

const waitMsMax = 600_000
const lookMs = 250

/**
 * Gives a command the stack that runs on the data folder, or one that is started for the time it
 * takes. A stack that another command started for itself is waited for, since it ends with that
 * command. On Ctrl-C what was started is stopped before the rejection.
 */
export async function useStack<T>(
  context: Context,
  command: string,
  use: (stack: InUse) => Promise<T>,
): Promise<T> {
  const profile = readOwnProfile(context.profilePath, context.homePath)
  const home = openHome(context.homePath)
  const own = { home, profile }
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    const attached = attachStack(home, context.external)
    if (attached?.run.stays) return untilEnding(context, use({ ...attached, ...own }))
    if (attached === undefined) {
      context.say('starting what this command needs')
      const stack = await startFor(context, { ...own, command }, waitedMs >= waitMsMax)
      if (stack !== undefined) {
        rememberProfile(home.path, profilePathOf(context.profilePath, home.path))
        return untilEnding(context, use({ ...stack, ...own })).finally(() => stack.close())
      }
    }
    if (waitedMs >= waitMsMax) throw new Fault('ALREADY_RUNNING', `${home.path} stayed in use`)
    if (waitedMs === 0) context.say(`waiting for the command that uses ${home.path}`)
    await sleep(lookMs, undefined, { signal: context.ending })
  }
}

/** A stack of this command's own; undefined where another process was first and may be waited for. */
async function startFor(
  context: Context,
  own: { readonly home: Home; readonly profile: Profile; readonly command: string },
  impatient: boolean,
): Promise<Stack | undefined> {
  try {
    return await startStack({
      ...own,
      log: createLog(join(own.home.logs, 'tieline.log'), own.command),
      external: context.external,
      secret: context.secret,
      stays: false,
      installs: context.installs,
      say: context.say,
    })
  } catch (error) {
    if (impatient || !(error instanceof Fault && error.code === 'ALREADY_RUNNING')) throw error
    return undefined
  }
}

/** The outcome of some work, unless the process is told to end first. */
export function untilEnding<T>(context: Context, work: Promise<T>): Promise<T> {
  const { ending } = context
  return new Promise<T>((resolve, reject) => {
    const end = () => reject(ending.reason)
    if (ending.aborted) end()
    ending.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => ending.removeEventListener('abort', end))
  })
}

import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Addresses } from '../stack/addresses.js'
import { withWholeStore } from '../stack/connections.js'
import { type Home, isHome, openHome, refuseForeign } from '../stack/home.js'
import { profilePathOf, readOwnProfile, rememberProfile } from '../stack/profile-file.js'
import { type RunState, readRun } from '../stack/run-state.js'
import { attachStack, type Stack, startStack } from '../stack/stack.js'
import { createLog } from '../telemetry/log.js'
import type { Context } from './context.js'

export interface InUse extends Addresses {
  readonly home: Home
  readonly profile: Profile
}

const waitMsMax = 600_000
const lookMs = 250

/**
 * Runs `use` with the stack on the data folder, or starts a stack for this command. If another
 * command has started a stack for itself, waits until that command ends. On Ctrl-C, stops what was
 * started before it rejects.
 */
export async function useStack<T>(
  context: Context,
  command: string,
  use: (stack: InUse) => Promise<T>,
): Promise<T> {
  const { homePath, profilePath } = context
  const readProfile = () => readOwnProfile(profilePath, homePath)
  // An invalid profile must not create a data folder.
  if (readRun({ path: homePath }) === undefined) readProfile()
  const home = openHome(homePath)
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    const attached = attachStack(home, context.external)
    if (attached?.run.stays) {
      if (profilePath !== undefined) refuseOther(readProfile(), profilePath, attached.run)
      return untilEnding(context, use({ ...attached, home, profile: attached.run.profile }))
    }
    if (attached === undefined) {
      refuseForeign(home)
      context.say('starting ClickHouse and Redis for this command')
      const own = { home, profile: readProfile() }
      const stack = await startFor(context, { ...own, command }, waitedMs >= waitMsMax)
      if (stack !== undefined) {
        rememberProfile(home.path, profilePathOf(profilePath, homePath))
        return untilEnding(context, use({ ...stack, ...own })).finally(() => stack.close())
      }
    }
    if (waitedMs >= waitMsMax)
      throw new Fault('ALREADY_RUNNING', `${home.path} is still used by another command`)
    if (waitedMs === 0) context.say(`waiting for the command that uses ${home.path}`)
    await sleep(lookMs, undefined, { signal: context.ending })
  }
}

/**
 * The same for a command that reads or changes what is there. Throws `CONFIG` for a folder without
 * data: its name is probably a typo.
 */
export function useData<T>(
  context: Context,
  command: string,
  use: (stack: InUse) => Promise<T>,
): Promise<T> {
  const { homePath, external } = context
  if (external.clickhouseUrl === undefined && !isHome(homePath)) {
    throw new Fault(
      'CONFIG',
      `${resolve(homePath)} holds no data of Tieline; name the data folder with --home, or create one with tieline up or tieline load`,
    )
  }
  return useStack(context, command, use)
}

/** The same with a store that is opened and closed; a replica that lags has everything first. */
export function useStore<T>(
  context: Context,
  command: string,
  use: (store: Store, profile: Profile) => Promise<T>,
): Promise<T> {
  return useData(context, command, ({ store: address, profile }) =>
    withWholeStore(address, (store) => use(store, profile)),
  )
}

/** Refuses a profile that the running stack does not use: it would have no effect. */
function refuseOther(profile: Profile, profilePath: string, run: RunState): void {
  if (isDeepStrictEqual(run.profile, JSON.parse(JSON.stringify(profile)))) return
  throw new Fault(
    'CONFIG',
    `pid ${run.pid} is already using this data folder with another (or older) profile than ${resolve(profilePath)}; omit --profile, or stop pid ${run.pid} and start it with this profile`,
  )
}

/** A stack for this command; undefined if another process was first and this one may wait. */
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
      tracing: context.tracing(),
      stays: false,
      installs: context.installs,
      say: context.say,
    })
  } catch (error) {
    if (impatient || !(error instanceof Fault && error.code === 'ALREADY_RUNNING')) throw error
    return undefined
  }
}

/** The result of some work; rejects when the process ends first. */
export function untilEnding<T>(context: Context, work: Promise<T>): Promise<T> {
  const { ending } = context
  return new Promise<T>((resolve, reject) => {
    const end = () => reject(ending.reason)
    if (ending.aborted) end()
    ending.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => ending.removeEventListener('abort', end))
  })
}

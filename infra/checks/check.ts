import { resolve } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Context } from '../commands/context.js'
import { openHome } from '../stack/home.js'
import { placeFiles, profilePathOf, readProfile } from '../stack/profile-file.js'
import { readRun } from '../stack/run-state.js'
import { attachStack } from '../stack/stack.js'

/** The result of a check; `todo` is the remedy of a problem. */
export interface CheckResult {
  readonly state: 'good' | 'skipped' | 'warning' | 'bad'
  readonly detail: string
  readonly todo?: string
}

/** Checks one thing and leaves nothing behind. A fault that it throws counts as bad. */
export interface Check {
  readonly name: string
  readonly look: (context: Context) => Promise<CheckResult>
}

export function good(detail: string): CheckResult {
  return { state: 'good', detail }
}

/** Of a check that has nothing to look at; `why` says what is not there. */
export function skipped(why: string): CheckResult {
  return { state: 'skipped', detail: `not checked: ${why}` }
}

export function warning(detail: string, todo: string): CheckResult {
  return { state: 'warning', detail, todo }
}

export function bad(detail: string, todo: string): CheckResult {
  return { state: 'bad', detail, todo }
}

/** The profile; undefined if it is invalid, which the profile check reports. */
export function readIfValid({ profilePath, homePath }: Context): Profile | undefined {
  try {
    return placeFiles(readProfile(profilePathOf(profilePath, homePath)), homePath)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** A check that needs the profile; where that is invalid nothing is checked. */
export function withProfile(
  look: (profile: Profile, context: Context) => CheckResult | Promise<CheckResult>,
): Check['look'] {
  return async (context) => {
    const profile = readIfValid(context)
    return profile === undefined ? skipped('the profile is not valid') : look(profile, context)
  }
}

/** The result of a check that needs a running stack where there is none. */
export const notAttached = skipped('no stack is running on this data folder')

/** The stack that is running on the data folder; undefined if none is. */
export function attachedTo({ homePath, external }: Context) {
  const path = resolve(homePath)
  return readRun({ path }) && attachStack(openHome(path), external)
}

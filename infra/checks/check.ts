import { Fault } from '../../schemas/fault.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Context } from '../commands/context.js'
import { placeFiles, profilePathOf, readProfile } from '../stack/profile-file.js'

/** What a check found; `todo` says what to do about it where it is not good. */
export interface Finding {
  readonly state: 'good' | 'warning' | 'bad'
  readonly detail: string
  readonly todo?: string
}

/** Looks at one thing and changes nothing. What it throws counts as bad. */
export interface Check {
  readonly name: string
  readonly look: (context: Context) => Promise<Finding>
}

export function good(detail: string): Finding {
  return { state: 'good', detail }
}

export function warning(detail: string, todo: string): Finding {
  return { state: 'warning', detail, todo }
}

export function bad(detail: string, todo: string): Finding {
  return { state: 'bad', detail, todo }
}

/** The profile; undefined for one with faults, which the check of the profile tells. */
export function readIfValid({ profilePath, homePath }: Context): Profile | undefined {
  try {
    return placeFiles(readProfile(profilePathOf(profilePath, homePath)), homePath)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

import { createRestMdm } from '../../api/mdm/rest.js'
import { Fault } from '../../schemas/fault.js'
import { toUsageText } from '../../schemas/gateway/history.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { addDays } from '../../schemas/time/zone.js'
import type { Context } from '../commands/context.js'
import { type Check, type CheckResult, good, skipped, withProfile } from './check.js'

const days = 7
/** A meter that does not exist; an MDM answers 404 or 204. */
const nobodysMeter = 'tieline-doctor'

/** Checks of the MDM, if the profile has a section backfill. */
export const mdmChecks: readonly Check[] = [{ name: 'MDM', look: withProfile(mdm) }]

async function mdm(profile: Profile, { secret }: Context): Promise<CheckResult> {
  if (profile.backfill === undefined) return skipped('the profile has no section backfill')
  const found = await askMdm(profile, { meterId: nobodysMeter, secret })
  return good(`${new URL(profile.backfill.url).origin} ${found}`)
}

/**
 * Requests the latest days of a meter from the MDM of a profile and reports the number of rows.
 * Throws `PROFILE` without a section backfill, and the MDM's faults.
 */
export async function askMdm(
  { backfill }: Profile,
  { meterId, secret }: Pick<Context, 'secret'> & { readonly meterId: string },
): Promise<string> {
  if (backfill === undefined) throw new Fault('PROFILE', 'backfill: missing; add this section')
  const driver = createRestMdm(backfill, secret)
  try {
    const to = new Date().toISOString().slice(0, 10)
    const answer = await driver.history({ meterId, from: addDays(to, -days), to })
    const text = answer && toUsageText(answer)
    if (text === undefined) return 'OK: no reads of this meter'
    return `OK: ${text.trimEnd().split('\n').length - 1} rows of the last ${days} days`
  } finally {
    await driver.close()
  }
}

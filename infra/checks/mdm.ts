import { createRestMdm } from '../../api/mdm/rest.js'
import { Fault } from '../../schemas/fault.js'
import { toUsageText } from '../../schemas/history.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { addDays } from '../../schemas/time/zone.js'
import type { Context } from '../commands/context.js'
import { type Check, type Finding, good, readIfValid } from './check.js'

const days = 7
/** No utility's; an MDM answers 404 or 204 for it. */
const nobodysMeter = 'tieline-doctor'

/** Checks of the MDM, where the profile has one asked for histories. */
export const mdmChecks: readonly Check[] = [{ name: 'MDM', look: mdm }]

async function mdm(context: Context): Promise<Finding> {
  const profile = readIfValid(context)
  if (profile?.backfill === undefined) return good('not asked, for the profile has no backfill')
  const found = await askMdm(profile, { meterId: nobodysMeter, secret: context.secret })
  return good(`${new URL(profile.backfill.url).origin} ${found}`)
}

/**
 * Asks the MDM of a profile for the latest days of a meter and says what came, nothing of the reads.
 * Throws `PROFILE` where there is no section backfill, else the MDM's faults.
 */
export async function askMdm(
  { backfill }: Profile,
  { meterId, secret }: Pick<Context, 'secret'> & { readonly meterId: string },
): Promise<string> {
  if (backfill === undefined) throw new Fault('PROFILE', 'backfill: missing: write a section')
  const driver = createRestMdm(backfill, secret)
  try {
    const to = new Date().toISOString().slice(0, 10)
    const answer = await driver.history({ meterId, from: addDays(to, -days), to })
    const text = answer && toUsageText(answer)
    if (text === undefined) return 'answers: no reads of this meter'
    return `answers: ${text.trimEnd().split('\n').length - 1} rows of the last ${days} days`
  } finally {
    await driver.close()
  }
}

import { randomBytes } from 'node:crypto'
import { createAmi } from '../../api/ami/drivers.js'
import { createCis } from '../../api/cis/drivers.js'
import { createIdentity } from '../../api/identity/drivers.js'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Context } from '../commands/context.js'
import { type Check, good, skipped, withProfile } from './check.js'

/** Nobody's: a CIS or a head-end answers that it does not know it. */
const nobody = () => `tieline-doctor-${randomBytes(4).toString('hex')}`

/** Checks of the systems that the gateway calls: each is asked once, as the gateway asks it. */
export const systemChecks: readonly Check[] = [
  { name: 'identity', look: look('identity', askIdentity) },
  { name: 'CIS', look: look('cis', askCis) },
  { name: 'head-end', look: look('ami', askAmi) },
]

type Section = 'identity' | 'cis' | 'ami'
type Settings<S extends Section> = NonNullable<Profile[S]>

function look<S extends Section>(
  section: S,
  ask: (settings: Settings<S>, context: Context) => Promise<string>,
): Check['look'] {
  return withProfile(async (profile, context) => {
    const settings = profile[section]
    if (settings === undefined) return skipped(`the profile has no section ${section}`)
    return good(await ask(settings as Settings<S>, context))
  })
}

async function askIdentity(settings: Settings<'identity'>, { secret }: Context): Promise<string> {
  const identity = createIdentity(settings, {
    pseudonymize: () => '',
    tokensCachedMax: 0,
    secret,
    now: Date.now,
    onFailure: () => undefined,
    report: () => undefined,
  })
  try {
    await identity.ready()
    return `${settings.kind} OK`
  } finally {
    await identity.close()
  }
}

async function askCis(settings: Settings<'cis'>, { secret }: Context): Promise<string> {
  const cis = createCis(settings, secret)
  try {
    await cis.fetch(nobody())
    return `${settings.kind} OK`
  } finally {
    await cis.close()
  }
}

async function askAmi(settings: Settings<'ami'>, { secret }: Context): Promise<string> {
  const ami = createAmi(settings, secret)
  try {
    await ami.meter(nobody())
    return `${settings.kind} OK`
  } finally {
    await ami.close()
  }
}

import { randomUUID } from 'node:crypto'
import { createAmi } from '../../api/ami/drivers.js'
import { createCis } from '../../api/cis/drivers.js'
import { createIdentity } from '../../api/identity/drivers.js'
import { spellRefusal } from '../../api/identity/refusal.js'
import { Fault } from '../../schemas/fault.js'
import { judgeCustomer, spellProblem } from '../../schemas/gateway/customer.js'
import { asSent, normaliseCustomer } from '../../schemas/gateway/normalise.js'
import type { AlertMessage } from '../../schemas/settings/alert.js'
import type { CisSettings } from '../../schemas/settings/gateway-cis.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { toAlertFault } from '../alerts/alerts.js'
import { createWebhook, judgeStatus } from '../alerts/webhook.js'
import { askMdm } from '../checks/mdm.js'
import { placeFiles, profilePathOf, readProfile } from '../stack/profile-file.js'
import { type Context, exitCodes } from './context.js'

export type ProbeName = keyof typeof probes

interface Probe {
  readonly profile: Profile
  readonly subject: string | undefined
  readonly context: Context
  /** Runs one step and prints its time and result, never a name or an address of a person. */
  step(name: string, run: () => Promise<string>): Promise<void>
}

const probes = { login, customer, bind, backfill, alert } as const

/**
 * Makes one call to the identity provider, CIS, head-end, MDM or alert receiver of a profile,
 * without a gateway or a store, and prints the time and result of each step. The exit code is 1 if a
 * step failed. Nothing is bound.
 */
export async function probe(
  context: Context,
  name: ProbeName,
  subject: string | undefined,
): Promise<number> {
  let failed = 0
  const step: Probe['step'] = async (title, run) => {
    const from = performance.now()
    const outcome = await run().then(
      (text) => ({ mark: '✓', text }),
      (error: unknown) => {
        if (!(error instanceof Fault)) throw error
        failed++
        return { mark: '✗', text: error.message }
      },
    )
    const ms = (performance.now() - from).toFixed(0).padStart(6)
    context.print(`${outcome.mark} ${title.padEnd(20)} ${ms} ms  ${outcome.text}`)
  }
  await probes[name]({
    profile: placeFiles(
      readProfile(profilePathOf(context.profilePath, context.homePath)),
      context.homePath,
    ),
    subject,
    context,
    step,
  })
  return failed === 0 ? exitCodes.good : exitCodes.fault
}

/** Checks the keys of the provider and, if `subject` names a file with a token, its customer. */
async function login({ profile, subject, context, step }: Probe): Promise<void> {
  const identity = createIdentity(section(profile, 'identity'), {
    pseudonymize: () => '',
    tokensCachedMax: 0,
    secret: context.secret,
    now: Date.now,
    onFailure: (fault) => context.print(`  ${fault.detail}`),
    report: () => undefined,
  })
  await step('identity provider', async () => {
    await identity.ready()
    return 'OK: usable keys found'
  })
  if (subject !== undefined) {
    await step('token', async () => {
      const identified = await identity.identify(readToken(context, subject))
      if (identified.kind === 'customer') return `OK: customer ${identified.clientId}`
      const reason = identified.kind === 'refused' ? spellRefusal(identified) : identified.reason
      throw new Fault('CONFIG', `the token is rejected: ${reason}`)
    })
  }
  await identity.close()
}

/** The error never repeats the argument: it may be a token instead of the name of its file. */
function readToken({ secret }: Context, path: string): string {
  try {
    return secret({ file: path })
  } catch (cause) {
    const detail =
      'the token cannot be read; run tieline probe login FILE with a file that holds it'
    throw new Fault('CONFIG', detail, { cause })
  }
}

async function customer({ profile, subject, context, step }: Probe): Promise<void> {
  const settings = section(profile, 'cis')
  const cis = createCis(settings, context.secret)
  const clientId = named(subject, 'a clientId')
  let record: unknown
  await step('CIS', async () => {
    const found = await cis.fetch(clientId)
    record = found?.record
    if (found === undefined) return 'OK: customer not found'
    const { AcctStatus } = found.record
    if (found.problems.length > 0) {
      throw new Fault('CIS_ANSWER', found.problems.map(spellProblem).join('; '))
    }
    const locked =
      found.locked === undefined ? 'lock state not provided' : `locked: ${found.locked}`
    return `OK: status ${String(AcctStatus ?? 'not provided')}, ${locked}`
  })
  if (record !== undefined) await step('record', async () => judge(record, settings))
  await cis.close()
}

async function judge(record: unknown, settings: CisSettings): Promise<string> {
  const normalised = settings.normalise ? normaliseCustomer(record) : asSent(record)
  const { meters: meterCount, sites: siteCount } = normalised.omitted
  const omitted =
    meterCount + siteCount > 0 ? `; omitted ${siteCount} sites, ${meterCount} meters` : ''
  if (!normalised.hasMeter) return `OK: no electric or gas meter: answered with code 1${omitted}`
  const { customer, problems } = judgeCustomer(normalised.record, settings)
  if (problems !== undefined) throw new Fault('CIS_ANSWER', problems.map(spellProblem).join('; '))
  const meters = customer.customerSites.flatMap((site) => site.meters)
  return `OK: ${customer.customerSites.length} sites, ${meters.length} meters${omitted}`
}

async function bind({ profile, subject, context, step }: Probe): Promise<void> {
  const ami = createAmi(section(profile, 'ami'), context.secret)
  const accountSlid = named(subject, 'an accountSlid')
  let meterId: string | undefined
  await step('head-end, location', async () => {
    meterId = await ami.locate(accountSlid)
    return meterId === undefined ? 'OK: location not found' : `OK: meter ${meterId}`
  })
  if (meterId !== undefined) {
    const known = meterId
    await step('head-end, meter', async () => {
      const meter = await ami.meter(known)
      if (meter === undefined) throw new Fault('AMI_ANSWER', `meter ${known} not found`)
      const hub = meter.boundTo === undefined ? 'no hub is bound' : 'a hub is bound'
      return `OK: ${meter.isAMI ? 'AMI' : 'not an AMI'} meter, ${hub}; nothing was sent`
    })
  }
  await ami.close()
}

async function backfill({ profile, subject, context, step }: Probe): Promise<void> {
  const meterId = named(subject, 'a meterId')
  await step('MDM', () => askMdm(profile, { meterId, secret: context.secret }))
}

/** Sends a signed message of kind test. */
async function alert({ profile, context, step }: Probe): Promise<void> {
  const webhook = createWebhook(section(profile, 'alerts'), context.secret)
  const now = new Date().toISOString()
  const message: AlertMessage = {
    v: 1,
    id: randomUUID(),
    key: 'test',
    state: 'raised',
    sequence: 1,
    database: profile.database,
    since: now,
    notifiedAt: now,
    about: { kind: 'test' },
  }
  await step('alert receiver', async () => {
    const status = await webhook.send(JSON.stringify(message))
    if (judgeStatus(status) !== 'delivered') throw toAlertFault(status)
    return `OK: status ${status} for message ${message.id}`
  })
  webhook.close()
}

function section<N extends 'identity' | 'cis' | 'ami' | 'alerts'>(
  profile: Profile,
  name: N,
): NonNullable<Profile[N]> {
  const found = profile[name]
  if (found === undefined) throw new Fault('PROFILE', `${name}: missing; add this section`)
  return found
}

function named(subject: string | undefined, what: string): string {
  if (subject !== undefined) return subject
  throw new Fault('CONFIG', `${what} is missing; add it after the kind of probe`)
}

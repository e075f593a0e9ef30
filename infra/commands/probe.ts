import { randomUUID } from 'node:crypto'
import { createAmi } from '../../api/ami/drivers.js'
import { createCis } from '../../api/cis/drivers.js'
import { createIdentity } from '../../api/identity/drivers.js'
import { Fault } from '../../schemas/fault.js'
import { judgeCustomer } from '../../schemas/gateway/customer.js'
import type { AlertMessage } from '../../schemas/settings/alert.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { toAlertFault } from '../alerts/alerts.js'
import { createWebhook, judgeStatus } from '../alerts/webhook.js'
import { askMdm } from '../checks/mdm.js'
import { placeFiles, profilePathOf, readProfile } from '../stack/profile-file.js'
import { type Context, exitCodes } from './context.js'

export type ProbeName = keyof typeof probes

/** One thing that was tried: what came of it, never a name or an address. */
interface Probe {
  readonly profile: Profile
  readonly subject: string | undefined
  readonly context: Context
  /** Runs one step, prints its time and what came of it. */
  step(name: string, run: () => Promise<string>): Promise<void>
}

const probes = { login, customer, bind, backfill, alert } as const

/**
 * Makes one call against the identity provider, the CIS, the head-end, the MDM or the receiver of alerts of a
 * profile, without a gateway or a store, and says of each step how long it took and what was wrong. Exit code 1 where
 * a step failed; nothing is bound.
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

/** Keys of the provider and, with a token in the file that `subject` names, its customer. */
async function login({ profile, subject, context, step }: Probe): Promise<void> {
  const identity = createIdentity(section(profile, 'identity'), {
    pseudonymize: () => '',
    tokensCachedMax: 0,
    secret: context.secret,
    now: Date.now,
    onFailure: (fault) => context.print(`  ${fault.detail}`),
  })
  await step('identity provider', async () => {
    await identity.ready()
    return 'has keys that can be used'
  })
  if (subject !== undefined) {
    await step('token', async () => {
      const identified = await identity.identify(readToken(context, subject))
      if (identified.kind === 'customer') return `names customer ${identified.clientId}`
      throw new Fault('CONFIG', `the token is refused: ${identified.reason}`)
    })
  }
  await identity.close()
}

/** A token that was typed instead of its file's name is not shown again. */
function readToken({ secret }: Context, path: string): string {
  try {
    return secret({ file: path })
  } catch (cause) {
    const detail = 'no token can be read; name a file that holds one behind probe login'
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
    if (found === undefined) return 'answers: there is no such customer'
    const { AcctStatus } = found.record
    const locked = found.locked === undefined ? 'no word on locks' : `locked: ${found.locked}`
    return `answers: status ${String(AcctStatus ?? 'not given')}, ${locked}`
  })
  if (record !== undefined) await step('record', async () => judge(record, settings))
  await cis.close()
}

async function judge(record: unknown, rules: Parameters<typeof judgeCustomer>[1]): Promise<string> {
  const { customer, problems } = judgeCustomer(record, rules)
  if (problems !== undefined) {
    const shown = problems.map(({ field, reason }) => `${field || 'the record'} ${reason}`)
    throw new Fault('CIS_ANSWER', shown.join('; '))
  }
  const meters = customer.customerSites.flatMap((site) => site.meters)
  return `is whole: ${customer.customerSites.length} sites, ${meters.length} meters`
}

async function bind({ profile, subject, context, step }: Probe): Promise<void> {
  const ami = createAmi(section(profile, 'ami'), context.secret)
  const accountSlid = named(subject, 'an accountSlid')
  let meterId: string | undefined
  await step('head-end, location', async () => {
    meterId = await ami.locate(accountSlid)
    return meterId === undefined ? 'answers: there is no such location' : `has meter ${meterId}`
  })
  if (meterId !== undefined) {
    const known = meterId
    await step('head-end, meter', async () => {
      const meter = await ami.meter(known)
      if (meter === undefined) throw new Fault('AMI_ANSWER', `meter ${known} is not known`)
      const hub = meter.boundTo === undefined ? 'no hub is bound' : 'a hub is bound'
      return `${meter.isAMI ? 'is an AMI meter' : 'is no AMI meter'}, ${hub}; nothing was sent`
    })
  }
  await ami.close()
}

async function backfill({ profile, subject, context, step }: Probe): Promise<void> {
  const meterId = named(subject, 'a meterId')
  await step('MDM', () => askMdm(profile, { meterId, secret: context.secret }))
}

/** Sends a message of the kind test, signed as all are. */
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
  await step('receiver of alerts', async () => {
    const status = await webhook.send(JSON.stringify(message))
    if (judgeStatus(status) !== 'delivered') throw toAlertFault(status)
    return `answered ${status} to message ${message.id}`
  })
  webhook.close()
}

function section<N extends 'identity' | 'cis' | 'ami' | 'alerts'>(
  profile: Profile,
  name: N,
): NonNullable<Profile[N]> {
  const found = profile[name]
  if (found === undefined) throw new Fault('PROFILE', `${name}: missing: write a section`)
  return found
}

function named(subject: string | undefined, what: string): string {
  if (subject !== undefined) return subject
  throw new Fault('CONFIG', `name ${what} behind the kind of the probe`)
}

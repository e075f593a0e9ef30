import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Intake } from '../../schemas/settings/intake.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'
import { createBegin } from '../groups/begin-together.js'
import { createLedger, type Ledger } from '../ledger/ledger.js'
import { toReceipt } from '../ledger/receipt.js'
import { createQueues } from '../queues/bullmq.js'
import type { Tracing } from '../queues/tracing.js'
import { attempt, ifThere } from '../sources/disk.js'
import { submitted } from '../sources/folder.js'
import { quarantineSource } from '../steps/reprocess.js'
import { createStore, type StoreAddress } from '../store/clickhouse.js'
import { createAmbiguityCheck } from './ambiguous-rows.js'
import { createArrive } from './arrive.js'
import { createPushes } from './pushes.js'
import { findBound, isSentBy, pushedAs, type Sent } from './sender.js'
import { createUploads } from './uploads.js'

export interface IntakeOptions {
  readonly profile: Profile
  readonly store: StoreAddress
  readonly redisUrl: string
  readonly folders: { readonly uploads: string; readonly pushed: string }
  readonly tracing?: Tracing | undefined
  readonly onFailure: (error: unknown) => void
}

/** The intake of uploaded files and pushed rows; undefined if the profile has none. */
export async function createIntake(options: IntakeOptions): Promise<Intake | undefined> {
  const { profile, folders, redisUrl, tracing, onFailure } = options
  if (profile.intake === undefined) return undefined
  for (const folder of Object.values(folders)) {
    await attempt(folder, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  }
  const { intake: settings, companyCodes, limits } = profile
  const now = () => new Date()
  const store = createStore(options.store, 'discreet', {
    ...profile.store,
    tracer: tracing?.tracer,
  })
  const ledger = createLedger(store, now)
  const queues = createQueues({
    redisUrl,
    prefix: profile.database,
    telemetry: tracing?.telemetry,
  })
  // Its own folders are on this machine.
  const begin = createBegin({ profile, queues, ledger, sources: new Map() }, onFailure)
  const arrive = createArrive(ledger, begin)
  const zone = createZone(profile.timeZone)
  const companyCodeOf = (sender: string) => {
    const user = settings.users.find(({ name }) => name === sender)
    return (user?.companyCodes ?? companyCodes)[0] ?? ''
  }
  // In this order: what the sender itself claims in between is not of others.
  const isOfOthers = async ({ sender, name }: Sent) =>
    (await ledger.latest({ name })) !== undefined && !(await isOwn(ledger, { sender, name }))
  const isReplaced = async (name: string, since: Date) => {
    const latest = await ledger.latest({ name, notFrom: ofOperators })
    return latest !== undefined && latest.arrivedAt > since
  }
  const uploads = createUploads({
    folder: folders.uploads,
    naming: profile,
    limits,
    arrive,
    senders: settings.users.map(({ name }) => name),
    findBound: (sender, file) => findBound(settings, sender, file),
    isOfOthers,
    isReplaced,
  })
  const pushes = await createPushes({
    folder: folders.pushed,
    companyCodeOf,
    zone,
    gatherSeconds: settings.gatherSeconds,
    freeDiskBytesMin: limits.freeDiskBytesMin,
    naming: profile,
    arrive,
    now,
    onFailure,
    findProblem: createAmbiguityCheck(profile, { zone, now }),
    claimUploads: uploads.claimLeft,
  })
  return {
    take: uploads.take,
    push: async (rows) => {
      const { sender, feed } = rows
      const detail = findBound(settings, sender, { companyCode: companyCodeOf(sender), feed })
      return detail === undefined ? pushes.push(rows) : { kind: 'wrong', detail }
    },
    receipt: async ({ sender, of }) => {
      const pushed = join(folders.pushed, pushedAs({ sender, name: of }))
      return (await receiptOf(ledger, { sender, of, pushed })) ?? gatheringOf(pushed, of)
    },
    close: async () => {
      await pushes.close()
      await begin.close()
      await queues.close()
      await store.close()
    },
  }
}

/** Pushed rows have no arrival while they are gathered. */
async function gatheringOf(path: string, name: string): Promise<string | undefined> {
  if (!/^\w{1,80}\.csv$/.test(name)) return undefined
  const found = await attempt(path, async () => {
    return (await ifThere(stat(`${path}.part`))) ?? (await ifThere(stat(path)))
  })
  return found && JSON.stringify({ fileName: name, status: 'gathering' })
}

/** Where files come from that an operator has loaded again. */
const ofOperators = [quarantineSource, submitted]

interface Asked {
  readonly sender: string
  /** The number of an arrival, or the name of a file. */
  readonly of: string
  /** The path of a file of pushed rows with that name. */
  readonly pushed: string
}

/** Files of different senders may have one name: those of pushed rows are numbered by time. */
async function findOwn(ledger: Ledger, { sender, of, pushed }: Asked) {
  if (/^\d{1,9}$/.test(of)) {
    const found = await ledger.arrival(Number(of))
    return found !== undefined && isSentBy(found, sender) ? found : undefined
  }
  return ledger.latest(
    (await isOwn(ledger, { sender, name: of })) ? { name: of } : { path: pushed },
  )
}

/** Whether a sender sent the latest file of a name, which an operator may have had loaded again. */
async function isOwn(
  ledger: Ledger,
  { sender, name }: { readonly sender: string; readonly name: string },
): Promise<boolean> {
  const sent = await ledger.latest({ name, notFrom: ofOperators })
  return sent !== undefined && isSentBy(sent, sender)
}

/** Until a file is settled there is only its status. */
async function receiptOf(ledger: Ledger, asked: Asked): Promise<string | undefined> {
  const arrival = await findOwn(ledger, asked)
  if (arrival === undefined) return undefined
  const state = await ledger.state(arrival.arrival)
  if (state?.settledAt === undefined) {
    return JSON.stringify({ fileName: arrival.name, status: state?.status ?? 'arrived' })
  }
  const first = state.duplicateOf === 0 ? undefined : await ledger.state(state.duplicateOf)
  return JSON.stringify(toReceipt(state, first))
}

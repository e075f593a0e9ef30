import type { Logger } from 'pino'
import type { Registration } from '../schemas/gateway/registration.js'
import type { Mdm } from '../schemas/history.js'
import type { Profile } from '../schemas/settings/profile.js'
import type { SecretReference } from '../schemas/settings/secret.js'
import { sourceSettings } from '../schemas/settings/source.js'
import { createZone } from '../schemas/time/zone.js'
import { compareWhenDue, queueComparisons } from './bills/compare/when-due.js'
import { billWhenDue, queueDue } from './bills/when-due.js'
import type { Folders, Line } from './context.js'
import { backfill, backfillSource, giveUpHistory, openHistory } from './customers/backfill.js'
import { register } from './customers/registrations.js'
import { logFailure } from './failure.js'
import { pushSource, uploadSource } from './intake/arrive.js'
import { createLedger } from './ledger/ledger.js'
import { createConsumer, createQueues } from './queues/bullmq.js'
import { idsOf, type JobData, type JobName } from './queues/jobs.js'
import { alone, keepRepeating } from './queues/repeat.js'
import type { Tracing } from './queues/tracing.js'
import { createSources } from './sources/drivers.js'
import { fetch } from './steps/fetch.js'
import { load } from './steps/load.js'
import type { Stillness } from './steps/poll.js'
import { pollWhenDue } from './steps/poll-when-due.js'
import { receive } from './steps/receive.js'
import { giveUp, reconcile } from './steps/reconcile.js'
import { quarantineSource, takeUp } from './steps/reprocess.js'
import { retain } from './steps/retain.js'
import { settle } from './steps/settle.js'
import { sweep } from './steps/sweep.js'
import { createStore, type StoreAddress } from './store/clickhouse.js'

export interface WorkerOptions {
  readonly profile: Profile
  readonly folders: Folders
  readonly store: StoreAddress
  /** The landing folder as the store sees it; chunks travel in request bodies without it. */
  readonly storeLandingPath?: string
  readonly redisUrl: string
  /** The secrets that the sources of the profile refer to. */
  readonly secret: (reference: SecretReference) => string
  /** Whom the history of meters is asked of; the worker closes it. */
  readonly mdm?: Mdm | undefined
  /** Looks for alerts and sends them; without it nobody does. */
  readonly alert?: (() => Promise<void>) | undefined
  readonly log: Logger
  readonly tracing?: Tracing | undefined
  readonly tell?: (text: string) => void
  /** Hears how long each step took that came to its end. */
  readonly onDone?: (step: JobName, ms: number) => void
  readonly onFailure?: (error: unknown) => void
}

/** Loads that run at once: the engine works on each with one thread. */
const loadsAtOnce = 2
const registersAtOnce = 4
/** A slow source does not hold up the others. */
const fetchesAtOnce = 4
const historiesAtOnce = 4

/** Everything that happens to files, one consumer for each queue. */
export async function createWorker(options: WorkerOptions): Promise<{ close(): Promise<void> }> {
  const line = createLine(options)
  const { profile, redisUrl, log } = options
  const stillness = new Map<string, Stillness>()
  const steps: { readonly [N in JobName]: (data: JobData<N>) => Promise<void> } = {
    poll: async ({ source }) => {
      const seen = stillness.get(source) ?? new Map()
      stillness.set(source, seen)
      await pollWhenDue(line, source, seen)
    },
    fetch: ({ arrival }) => fetch(line, arrival),
    receive: ({ arrival }) => receive(line, arrival),
    load: ({ v: _, ...task }) => load(line, task),
    reconcile: ({ arrival }) => reconcile(line, arrival),
    settle: ({ arrival }) => settle(line, arrival),
    takeUp: ({ arrival }) => takeUp(line, arrival),
    sweep: () => sweep(line),
    retain: () => retain(line),
    alert: async () => options.alert?.(),
    register: ({ customers }) => registerAll(line, customers),
    backfill: ({ meterId }) => backfill(line, meterId),
    due: async () => {
      await queueDue(line)
      await queueComparisons(line)
    },
    bill: ({ v: _, ...period }) => billWhenDue(line, period),
    compare: ({ cycleId }) => compareWhenDue(line, cycleId),
  }
  const consume = <N extends JobName>(name: N, concurrency: number) =>
    createConsumer<N>({
      name,
      redisUrl,
      prefix: profile.database,
      telemetry: options.tracing?.telemetry,
      concurrency,
      attemptsMax: profile.limits.attemptsMax,
      run: steps[name],
      giveUp: async (data, error) => {
        if ('arrival' in data && name !== 'takeUp')
          await giveUp(line, { job: name, arrival: data.arrival }, error)
        if ('meterId' in data) await giveUpHistory(line, data.meterId, error)
      },
      onFailure: (ids, error, attempts) => {
        logFailure(log, { job: name, ...ids, attempts }, error)
        options.onFailure?.(error)
      },
      onDone: (data, ms) => {
        options.onDone?.(name, ms)
        if ('arrival' in data) log.info({ job: name, ...idsOf(data), ms: Math.round(ms) }, 'done')
      },
    })
  for (const name of alone) await line.queues.runAlone(name)
  const consumers = [
    consume('fetch', fetchesAtOnce),
    consume('receive', 1),
    consume('load', loadsAtOnce),
    consume('reconcile', 1),
    consume('settle', 2),
    consume('takeUp', 1),
    consume('poll', 1),
    consume('sweep', 1),
    consume('retain', 1),
    consume('alert', 1),
    consume('register', registersAtOnce),
    consume('backfill', historiesAtOnce),
    consume('due', 1),
    consume('bill', 1),
    consume('compare', 1),
  ]
  await sweep(line)
  const repeating = await keepRepeating(line)
  return {
    close: async () => {
      await repeating.close()
      await Promise.all(consumers.map((consumer) => consumer.close()))
      await Promise.all([...line.sources.values()].map((source) => source.close()))
      await line.mdm?.close()
      await line.queues.close()
      await line.store.close()
    },
  }
}

function createLine(options: WorkerOptions): Line {
  const { profile, folders, redisUrl, secret, log, tracing } = options
  const now = () => new Date()
  const store = createStore(options.store, 'discreet', { tracer: tracing?.tracer })
  const tell = options.tell ?? (() => undefined)
  const own = [
    { name: backfillSource, path: folders.backfill },
    { name: uploadSource, path: folders.uploads },
    { name: pushSource, path: folders.pushed },
    { name: quarantineSource, path: folders.quarantine },
  ].map((folder) => sourceSettings.parse({ kind: 'folder', ...folder }))
  return {
    profile,
    zone: createZone(profile.timeZone),
    folders,
    store,
    ledger: createLedger(store, now),
    queues: createQueues({ redisUrl, prefix: profile.database, telemetry: tracing?.telemetry }),
    sources: createSources([...profile.sources, ...own], {
      ...folders,
      freeDiskBytesMin: profile.limits.freeDiskBytesMin,
      naming: profile,
      secret,
      tell,
    }),
    storeLanding: options.storeLandingPath,
    mdm: options.mdm,
    now,
    log,
    tell,
  }
}

/** The history of a meter is asked for when it is known, so that none of its rows are dropped. */
async function registerAll(line: Line, customers: readonly Registration[]): Promise<void> {
  await register(line, customers)
  if (line.mdm === undefined) return
  for (const meterId of await openHistory(line, customers)) {
    await line.queues.add('backfill', { v: 1, meterId })
  }
}

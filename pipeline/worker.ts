import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Mdm } from '../schemas/gateway/history.js'
import type { Profile } from '../schemas/settings/profile.js'
import type { SecretReference } from '../schemas/settings/secret.js'
import { sourceSettings } from '../schemas/settings/source.js'
import { createZone } from '../schemas/time/zone.js'
import { compareWhenDue, queueComparisons } from './bills/compare/when-due.js'
import { billWhenDue, queueDue } from './bills/when-due.js'
import type { Folders, PipelineContext } from './context.js'
import { backfill, backfillSource, failHistory, openHistory } from './customers/backfill.js'
import { endClients, register } from './customers/registrations.js'
import { failFile } from './fail-file.js'
import { logFailure } from './failure.js'
import { createBegin } from './groups/begin-together.js'
import { beginEach, gather } from './groups/gather.js'
import { pushSource, uploadSource } from './intake/arrive.js'
import { createLedger } from './ledger/ledger.js'
import { createElsewhere, reportMachine } from './machine.js'
import { createConsumer, createQueues } from './queues/bullmq.js'
import { idsOf, type JobData, type JobName, jobId, registrationsMax } from './queues/jobs.js'
import { clientsOf, joinsRegistrations, passesRegistrations } from './queues/register-turns.js'
import { alone, keepRepeating } from './queues/repeat.js'
import { createRest } from './queues/rest.js'
import { runTogether } from './queues/together.js'
import type { Tracing } from './queues/tracing.js'
import { letPass } from './queues/wait.js'
import { createSources } from './sources/drivers.js'
import { fetch } from './steps/fetch.js'
import { queueClaim } from './steps/forward.js'
import { load } from './steps/load.js'
import { createStability } from './steps/poll.js'
import { pollOrHold, pollWhenDue, type Remembered } from './steps/poll-when-due.js'
import { receive } from './steps/receive.js'
import { reconcile } from './steps/reconcile.js'
import { quarantineSource, reprocess } from './steps/reprocess.js'
import { retain, retainMachine } from './steps/retain.js'
import { settle } from './steps/settle.js'
import { sweep, sweepMachine } from './steps/sweep.js'
import { batchesOf } from './store/batches.js'
import { createStore, type StoreAddress } from './store/clickhouse.js'
import { createCatchUp } from './store/replicas.js'
import { buildAllDays } from './usage/days/build.js'
import { verifyAndReport, verifyMachine } from './verify/verify.js'

export interface WorkerOptions {
  readonly profile: Profile
  readonly folders: Folders
  /** The id of their data folder. */
  readonly machine: string
  readonly store: StoreAddress
  /** The landing folder as the store sees it; chunks travel in request bodies without it. */
  readonly storeLandingPath?: string
  readonly redisUrl: string
  /** The secrets that the sources of the profile refer to. */
  readonly secret: (reference: SecretReference) => string
  /** Provides the history of meters; the worker closes it. */
  readonly mdm?: Mdm | undefined
  /** Evaluates alerts and sends them; undefined if another process does. */
  readonly alert?: (() => Promise<void>) | undefined
  readonly log: Logger
  readonly tracing?: Tracing | undefined
  readonly notify?: (text: string) => void
  /** Called with the duration of each completed step. */
  readonly onDone?: (step: JobName, ms: number) => void
  readonly onFailure?: (error: unknown) => void
}

/**
 * Concurrent loads, each in one thread of the engine: while one starts or writes its receipt, the
 * others keep two cores busy.
 */
const loadsAtOnce = 3
/** All of them in one run: a hundred new customers take as long as two who come one after the other. */
const registersTogether = 100
/** More than one, so that a slow source does not block the others. */
const fetchesAtOnce = 4
const historiesAtOnce = 4

/**
 * A poll and a sweep are tasks where they find something, registrations are one together, a look for bills may
 * rest.
 */
const tasksOfTheirOwn: readonly JobName[] = ['poll', 'sweep', 'register', 'due']
/** Steps that run although nothing has happened. */
const idle: readonly JobName[] = ['poll', 'sweep', 'alert', 'due']

/** Builds the context of the pipeline and one consumer for each queue. */
export async function createWorker(options: WorkerOptions): Promise<{ close(): Promise<void> }> {
  const context = createContext(options)
  const { profile, redisUrl, log } = options
  const polled = new Map<string, Remembered>()
  const begin = createBegin(context, (error) => logFailure(log, { job: 'backfill' }, error))
  const catchUp = createCatchUp(context.store)
  const rest = createRest()
  const asTask = <T>(task: string, step: () => Promise<T>) =>
    context.store.runTask(task, async () => {
      await catchUp()
      return step()
    })
  const steps: { readonly [N in JobName]: (data: JobData<N>) => Promise<void> } = {
    poll: async ({ source }) => {
      const remembered = polled.get(source) ?? { stability: createStability() }
      polled.set(source, remembered)
      await pollOrHold(context, source, async () => {
        await catchUp()
        await pollWhenDue(context, source, remembered)
      })
    },
    fetch: ({ arrival }) => fetch(context, arrival),
    receive: ({ arrival }) => receive(context, arrival),
    gather: ({ arrivals }) => gather(context, arrivals),
    load: ({ v: _, ...task }) => load(context, task),
    reconcile: async ({ arrival }) => {
      await reconcile(context, arrival)
      // By itself it would be tried up to ten seconds later, and one behind the other so.
      await context.queues.promoteNext('reconcile').catch(letPass)
    },
    settle: ({ arrival }) => settle(context, arrival),
    days: () => buildAllDays(context),
    reprocess: ({ arrival }) => reprocess(context, arrival),
    sweep: () => sweep(context, (step) => asTask('sweep', step)),
    retain: ({ night }) => retain(context, { night }),
    alert: async () => options.alert?.(),
    verify: async ({ night = false }) => {
      await verifyAndReport(context, { files: false, days: night })
    },
    register: runTogether(
      (jobs) =>
        context.queues.turns.alone(jobs, () =>
          asTask(`register-${randomUUID()}`, () => registerAll(context, jobs)),
        ),
      { most: registersTogether, joins: joinsRegistrations, passes: passesRegistrations },
    ),
    backfill: ({ meterId }) => backfill(context, meterId, begin),
    due: () =>
      rest.look(() =>
        asTask('due', async () => {
          const hasBills = await queueDue(context)
          return (await queueComparisons(context)) || hasBills
        }),
      ),
    bill: ({ v: _, ...period }) => billWhenDue(context, period),
    compare: ({ cycleId }) => compareWhenDue(context, cycleId),
  }
  const ownSteps = {
    sweep: () => sweepMachine(context),
    retain: () => retainMachine(context),
    verify: () => verifyMachine(context),
  }
  const isElsewhere = createElsewhere(context)
  const shared = profile.database
  /** Queues of the jobs that each machine runs for its own disk. */
  const own = `${shared}:${context.machine}`
  const consume = <N extends JobName>(name: N, concurrency: number, prefix = shared) =>
    createConsumer<N>({
      name,
      redisUrl,
      prefix,
      telemetry: options.tracing?.telemetry,
      concurrency,
      attemptsMax: profile.limits.attemptsMax,
      run: async (data) => {
        const step: (data: JobData<N>) => Promise<void> =
          prefix === shared ? steps[name] : ownSteps[name as keyof typeof ownSteps]
        if (prefix === shared && tasksOfTheirOwn.includes(name)) return step(data)
        // The run of a night and those of the hours write the same.
        const one = name === 'retain' || name === 'verify' ? name : jobId(name, data)
        const task = prefix === shared ? one : `${one}-${context.machine}`
        await asTask(task, () => step(data))
      },
      isForOthers: async (data) => 'machine' in data && (await isElsewhere(data.machine)),
      fail: async (data, error) => {
        if ('arrivals' in data) await beginEach(context, data.arrivals)
        if ('arrival' in data && name !== 'reprocess')
          await failFile(context, { job: name, arrival: data.arrival }, error)
        if ('meterId' in data) await failHistory(context, data.meterId, error)
      },
      onFailure: (ids, error, attempts) => {
        logFailure(log, { job: name, ...ids, attempts }, error)
        options.onFailure?.(error)
      },
      onDone: (data, ms) => {
        options.onDone?.(name, ms)
        if (!idle.includes(name)) rest.end()
        if ('arrival' in data) log.info({ job: name, ...idsOf(data), ms: Math.round(ms) }, 'done')
      },
    })
  for (const name of alone) await context.queues.runAlone(name)
  await context.queues.polls.keep(profile.sources.map(({ name }) => name))
  const ownQueues = createQueues({ redisUrl, prefix: own })
  // Known before it settles its first file: an erasure asks all known machines.
  await reportMachine(context)
  const consumers = [
    consume('fetch', fetchesAtOnce),
    consume('receive', 1),
    consume('gather', 1),
    consume('load', loadsAtOnce),
    consume('reconcile', 1),
    consume('settle', 2),
    consume('days', 1),
    consume('reprocess', 1),
    consume('poll', 1),
    consume('sweep', 1),
    consume('retain', 1),
    consume('alert', 1),
    consume('verify', 1),
    consume('register', registersTogether),
    consume('backfill', historiesAtOnce),
    consume('due', 1),
    consume('bill', 1),
    consume('compare', 1),
    consume('sweep', 1, own),
    consume('retain', 1, own),
    consume('verify', 1, own),
  ]
  // In the background: with thousands of files it takes longer than a start may.
  const swept = Promise.all([sweep(context), sweepMachine(context)]).catch((error: unknown) =>
    logFailure(log, { job: 'sweep' }, error),
  )
  const repeating = await keepRepeating(context, ownQueues)
  // In the background: a start does not wait for it.
  await context.queues.add('verify', { v: 1 })
  return {
    close: async () => {
      await repeating.close()
      await swept
      await Promise.all(consumers.map((consumer) => consumer.close()))
      await Promise.all([...context.sources.values()].map((source) => source.close()))
      await context.mdm?.close()
      await begin.close()
      await ownQueues.close()
      await context.queues.close()
      await context.store.close()
    },
  }
}

function createContext(options: WorkerOptions): PipelineContext {
  const { profile, folders, redisUrl, secret, log, tracing } = options
  const now = () => new Date()
  const store = createStore(options.store, 'discreet', {
    ...profile.store,
    tracer: tracing?.tracer,
  })
  const notify = options.notify ?? (() => undefined)
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
    machine: options.machine,
    store,
    ledger: createLedger(store, now),
    queues: createQueues({ redisUrl, prefix: profile.database, telemetry: tracing?.telemetry }),
    sources: createSources([...profile.sources, ...own], {
      ...folders,
      freeDiskBytesMin: profile.limits.freeDiskBytesMin,
      naming: profile,
      secret,
      notify,
    }),
    storeLanding: options.storeLandingPath,
    mdm: options.mdm,
    now,
    log,
    notify,
  }
}

/** History is requested after the meter is registered, so that none of its rows are dropped. */
async function registerAll(
  context: PipelineContext,
  queued: readonly JobData<'register'>[],
): Promise<void> {
  const jobs = await context.queues.turns.current(queued)
  const customers = jobs.flatMap((job) => job.customers)
  await register(context, customers)
  const closed = jobs.flatMap((job) => job.closed ?? [])
  const outdated = queued.flatMap(clientsOf).length - jobs.flatMap(clientsOf).length
  if (outdated > 0) context.log.info({ job: 'register', outdated }, 'later records came first')
  await endClients(context, closed, 'closed')
  await context.queues.turns.record(jobs)
  await queueClaim(context)
  if (context.mdm === undefined) return
  for (const some of batchesOf(customers, registrationsMax)) {
    for (const meterId of await openHistory(context, some))
      await context.queues.add('backfill', { v: 1, meterId })
  }
}

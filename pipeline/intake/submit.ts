import { stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { Fault } from '../../schemas/fault.js'
import { sentName } from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { Receipt } from '../../schemas/receipt.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { withDeadline } from '../deadline.js'
import type { FileStatus } from '../ledger/file-state.js'
import { type Arrival, createLedger, type FileEntry, type Ledger } from '../ledger/ledger.js'
import { toReceipt } from '../ledger/receipt.js'
import { createCompletions, createQueues, type Queues } from '../queues/bullmq.js'
import { jobId, onMachine } from '../queues/jobs.js'
import { holdUp, letPass, passingFault, type WaitCause } from '../queues/wait.js'
import { attempt } from '../sources/disk.js'
import { submitted } from '../sources/folder.js'
import { createStore, type StoreAddress } from '../store/clickhouse.js'

export interface SubmissionOptions {
  readonly store: StoreAddress
  readonly redisUrl: string
  readonly profile: Profile
  /** The id of the data folder of this machine, whose worker reads the files. */
  readonly machine?: string
}

export interface Progress {
  readonly status: FileStatus | 'arrived'
  readonly rowsLoaded: number
  /** Rows of the file, once it has been read to its end. */
  readonly rowsTotal: number | undefined
  /** What the file is waiting for, if anything. */
  readonly wait: WaitCause | undefined
  /** Present once the file is settled. */
  readonly receipt: Receipt | undefined
}

/** Submits files of this machine, which count as complete. */
export interface Submission {
  /**
   * Claims an arrival and queues it; without Redis the claim is enough, because the sweep queues it
   * later. Faults: `SOURCE_UNREACHABLE`, `STORE_UNREACHABLE`.
   */
  submit(path: string, options?: { readonly again?: boolean }): Promise<{ arrival: number }>
  /** Claims all files together and queues them; files of a set are loaded as one. */
  submitAll(
    paths: readonly string[],
    options?: { readonly again?: boolean },
  ): Promise<readonly { readonly arrival: number }[]>
  /** The progress of the file until it is settled; unreachable servers are retried. */
  follow(arrival: number): AsyncGenerator<Progress>
  close(): Promise<void>
}

const pollMs = 1_000

export async function createSubmission(options: SubmissionOptions): Promise<Submission> {
  const { redisUrl, profile, machine = '' } = options
  const store = createStore(options.store, 'discreet')
  const ledger = createLedger(store, () => new Date())
  const queues = createQueues({ redisUrl, prefix: profile.database })
  const settled = new Map<string, () => void>()
  const look = createLooks({ ledger, queues })
  const completions = createCompletions(
    { redisUrl, prefix: profile.database, name: 'settle' },
    (id) => settled.get(id)?.(),
  )
  const submitAll: Submission['submitAll'] = async (paths, { again = false } = {}) => {
    const entries = await Promise.all(paths.map((path) => toEntry(path, profile)))
    const own = { machine, force: again }
    const arrivals = await ledger.claimAll(entries.map((entry) => ({ ...entry, ...own })))
    for (const { arrival } of arrivals) {
      await queues.add('receive', { v: 1, arrival, ...onMachine(machine) }).catch(letPass)
    }
    return arrivals
  }
  return {
    submit: async (path, options) => (await submitAll([path], options))[0] as Arrival,
    submitAll,
    follow: async function* (arrival) {
      const id = jobId('settle', { v: 1, arrival })
      let progress = unseen
      for (;;) {
        const woken = new Promise<void>((wake) => settled.set(id, wake))
        progress = await look(arrival, progress)
        yield progress
        if (progress.receipt !== undefined) break
        await withDeadline(woken, pollMs - (Date.now() % pollMs), () => undefined)
      }
      settled.delete(id)
    },
    close: async () => {
      await completions.close()
      await queues.close()
      await store.close()
    },
  }
}

async function toEntry(path: string, naming: Naming): Promise<Omit<FileEntry, 'force'>> {
  const absolute = resolve(path)
  const found = await attempt(absolute, () => stat(absolute))
  if (!found.isFile()) throw new Fault('SOURCE_UNREACHABLE', `${path} is not a file`)
  return {
    source: submitted,
    name: sentName(basename(absolute), naming),
    path: absolute,
    bytes: found.size,
    modifiedMs: Math.trunc(found.mtimeMs),
  }
}

const unseen: Progress = {
  status: 'arrived',
  rowsLoaded: 0,
  rowsTotal: undefined,
  wait: undefined,
  receipt: undefined,
}

interface Servers {
  readonly ledger: Ledger
  readonly queues: Queues
}

/** What the servers report of one file; the file waits for a server that does not respond. */
type Look = (arrival: number, before: Progress) => Promise<Progress>

/** Looks that are due together ask once for all of their files: each follower looks once a second. */
function createLooks(servers: Servers): Look {
  let due: number[] = []
  let next: Promise<ReadonlyMap<number, Progress>> | undefined
  const join = (arrival: number) => {
    due.push(arrival)
    next ??= turn().then(() => {
      const arrivals = due
      due = []
      next = undefined
      return lookUp(servers, arrivals)
    })
    return next
  }
  return async (arrival, before) => {
    try {
      return (await join(arrival)).get(arrival) ?? unseen
    } catch (error) {
      const fault = passingFault(error)
      if (fault === undefined) throw error
      return { ...before, wait: holdUp(fault, before.wait) }
    }
  }
}

async function lookUp(
  { ledger, queues }: Servers,
  arrivals: readonly number[],
): Promise<ReadonlyMap<number, Progress>> {
  const states = await ledger.states(arrivals)
  const ended = states.filter(({ settledAt }) => settledAt !== undefined)
  const firsts = ended.map(({ duplicateOf }) => duplicateOf).filter((first) => first !== 0)
  const [originals, loaded, waits] = await Promise.all([
    firsts.length === 0 ? [] : ledger.states(firsts),
    ended.length === states.length ? new Map<number, number>() : ledger.rowsLoaded(arrivals),
    ended.length === arrivals.length ? [] : queues.waits(),
  ])
  const stateOf = new Map([...originals, ...states].map((state) => [state.arrival, state]))
  const toProgress = (arrival: number): Progress => {
    const state = stateOf.get(arrival)
    const wait = waits.find((one) => one.arrival === arrival)
    if (state === undefined) return { ...unseen, wait }
    const { settledAt, duplicateOf, rows, held } = state
    const rowsTotal = rows.read + held.rows
    if (settledAt === undefined) {
      return {
        ...unseen,
        status: state.status,
        rowsTotal,
        rowsLoaded: loaded.get(arrival) ?? 0,
        wait,
      }
    }
    const receipt = toReceipt(state, stateOf.get(duplicateOf))
    return { status: state.status, rowsTotal, rowsLoaded: rowsTotal, wait: undefined, receipt }
  }
  return new Map(arrivals.map((arrival) => [arrival, toProgress(arrival)]))
}

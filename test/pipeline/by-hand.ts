import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Logger, pino } from 'pino'
import type { Test } from 'tap'
import type { PipelineContext } from '../../pipeline/context.js'
import type { LoadTask } from '../../pipeline/kind.js'
import { createLedger } from '../../pipeline/ledger/ledger.js'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import { createSubmitSource } from '../../pipeline/sources/folder.js'
import { load } from '../../pipeline/steps/load.js'
import { receive } from '../../pipeline/steps/receive.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { createZone } from '../../schemas/time/zone.js'
import { createFolder } from '../rig/folder.js'
import { migratedStore, profile } from './customers/registering.js'

export interface LineByHand {
  readonly context: PipelineContext
  /** The loads that were queued so far. */
  readonly loads: LoadTask[]
  /** Writes a file of these rows and claims its arrival. */
  arrive(
    name: string,
    rows: readonly string[],
    header?: string,
  ): Promise<{ arrival: number; path: string }>
  /** Takes a file in and loads its chunks, so that only its verdict is left. */
  takeIn(name: string, rows: readonly string[], header?: string): Promise<number>
}

const usageHeader = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'

export interface ByHandOptions {
  readonly limits?: Partial<Profile['limits']>
  readonly termination?: Profile['termination']
  readonly billing?: Profile['billing']
  readonly usage?: Partial<Profile['usage']>
  readonly log?: Logger
  /** Another clock than that of the machine. */
  readonly now?: () => Date
}

/** A line whose jobs are run by hand, one after the other, on a real store. */
export async function createLineByHand(t: Test, options: ByHandOptions = {}): Promise<LineByHand> {
  return createLineOn(await migratedStore(t), createFolder(t), options)
}

/** The same on any store, in any empty folder. */
export function createLineOn(
  store: Store,
  folder: string,
  options: ByHandOptions = {},
): LineByHand {
  const at = (name: string) => {
    mkdirSync(join(folder, name))
    return join(folder, name)
  }
  const { now = () => new Date() } = options
  const loads: LoadTask[] = []
  const queues: Queues = {
    add: async (name, data) => {
      if (name === 'load') loads.push(data as unknown as LoadTask)
    },
    addFlow: async () => undefined,
    has: async () => false,
    repeat: async () => false,
    turns: undefined as never,
    polls: undefined as never,
    promoteNext: async () => undefined,
    promote: async () => undefined,
    runAlone: async () => undefined,
    counts: async () => ({}) as never,
    each: [],
    oldest: async () => ({}),
    tryWriting: async () => undefined,
    waits: async () => [],
    close: async () => undefined,
  }
  const landing = at('landing')
  const context: PipelineContext = {
    profile: {
      ...profile,
      ...(options.termination && { termination: options.termination }),
      ...(options.billing && { billing: options.billing }),
      usage: { ...profile.usage, ...options.usage },
      limits: { ...profile.limits, freeDiskBytesMin: 0, ...options.limits },
    },
    zone: createZone(profile.timeZone),
    folders: {
      inbox: at('in'),
      outbox: at('outbox'),
      landing,
      archive: at('archive'),
      quarantine: at('quarantine'),
      backfill: at('backfill'),
      uploads: at('uploads'),
      pushed: at('pushed'),
    },
    machine: folder,
    store,
    ledger: createLedger(store, now),
    queues,
    sources: new Map([['submit', createSubmitSource()]]),
    storeLanding: landing,
    now,
    mdm: undefined,
    log: options.log ?? pino({ level: 'silent' }),
    notify: () => undefined,
  }
  const arrive: LineByHand['arrive'] = async (name, rows, header = usageHeader) => {
    const path = join(context.folders.inbox, name)
    writeFileSync(path, `${header}\n${rows.join('\n')}\n`)
    const { size: bytes, mtimeMs } = statSync(path)
    const entry = { source: 'submit', name: basename(path), path, bytes, force: false }
    const { arrival } = await context.ledger.claim({ ...entry, modifiedMs: Math.trunc(mtimeMs) })
    return { arrival, path }
  }
  return {
    context,
    loads,
    arrive,
    takeIn: async (name, rows, header) => {
      const { arrival } = await arrive(name, rows, header)
      await receive(context, arrival)
      for (const task of loads.filter((one) => one.arrival === arrival)) await load(context, task)
      return arrival
    },
  }
}

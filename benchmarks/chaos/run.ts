import { setTimeout as sleep } from 'node:timers/promises'
import { createRig, type Rig, type RigOptions } from '../rig.js'
import { createAcknowledgements } from './acknowledgements.js'
import { createFeeder, type Feeder } from './actors/feeder.js'
import { createKiller, type Killer } from './actors/killer.js'
import { createReaders } from './actors/readers.js'
import { type CustomerCalls, createCustomerCalls } from './actors/registrar.js'
import { createRemotes, type Remotes } from './actors/remotes.js'
import { arrivalsOf, compareEach } from './compare/compare.js'
import { chaosZone } from './plan.js'
import type { Lag } from './replicas/lag.js'
import { createReplicatedRig } from './replicas/rig.js'
import { type ChaosResult, toResult } from './result.js'

export interface ChaosOptions {
  readonly kills: number
  readonly seed: number
  /** How many days a file has. */
  readonly days?: number
  /** Milliseconds that a reader waits before it looks again. */
  readonly readerRestMs: number
  /** Keep the data folder of a run that went wrong. */
  readonly keeps: boolean
  /** On two replicas that lag, where the client fails over instead of a kill of ClickHouse. */
  readonly isReplicated?: boolean
  readonly say: (line: string) => void
}

const filesInFlightMax = 4
const filesForEachKill = 1.2
/** A source that could not be reached for a while is asked again up to two minutes later. */
const endMsMax = 240_000
const lookMs = 500

/** As usual in production: a statement of a worker that was killed goes on. */
const asServer = { silentMsMax: 60_000 }

const inbox = { kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 1, settlePolls: 2 }

const profileOf = ({ sources }: Remotes) => ({
  companyCodes: ['CHAOS'],
  timeZone: chaosZone,
  sources: [inbox, ...sources],
  limits: { chunkBytes: '1 MB' },
})

/**
 * Kills worker, ClickHouse and Redis and cuts the connections to an SFTP and an S3 server while files
 * load, customers register and readers read, then holds the store against what was written. Two more
 * files follow the last emptying of Redis, and no later kill restarts anything.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const from = performance.now()
  const remotes = await createRemotes(options.seed)
  try {
    return await harm(remotes, options, from)
  } finally {
    await remotes.close()
  }
}

async function harm(remotes: Remotes, options: ChaosOptions, from: number): Promise<ChaosResult> {
  const { secret } = remotes
  const { say } = options
  const profile = profileOf(remotes)
  const rig = await openRig({ name: 'chaos', profile, secret, say, asServer }, options)
  let isGood = false
  try {
    const feeder = await createFeeder(rig, remotes, options)
    const { files } = feeder
    const readers = createReaders(rig, files, {
      seed: options.seed,
      count: 2,
      restMs: options.readerRestMs,
    })
    const acknowledgements = createAcknowledgements(rig, files)
    const registrar = createCustomerCalls(rig, files)
    const killer = createKiller(rig, options.seed)
    await Promise.all([feed(feeder, killer, options), murder(killer, options)])
    await remotes.rest()
    await killer.flush()
    await feeder.sendNext('inbox')
    await feeder.sendNext('submit')
    await untilEnded(rig, feeder, registrar)
    await Promise.all([readers, acknowledgements, feeder, registrar].map((one) => one.close()))
    await rig.lag?.close()
    const comparison = await compareEach(rig.each, files, registrar)
    const result = toResult({
      seed: options.seed,
      seconds: (performance.now() - from) / 1_000,
      looks: readers.looks(),
      flushes: killer.flushes(),
      cuts: remotes.cuts(),
      lags: rig.lag?.count(),
      wrongs: readers.wrongs,
      ownWrongs: readers.ownWrongs,
      customers: registrar.count(),
      calls: registrar.calls(),
      missing: acknowledgements.missing,
      ...{ killer, files, comparison },
    })
    isGood = result.isGood
    return result
  } finally {
    await rig.close({ keep: options.keeps && !isGood })
  }
}

interface ChaosRig extends Rig {
  /** Of replicas. */
  readonly lag?: Lag
  /** With the store of each server. */
  readonly each: readonly Rig[]
}

async function openRig(
  rigOptions: RigOptions,
  { isReplicated = false, seed }: ChaosOptions,
): Promise<ChaosRig> {
  if (isReplicated) return createReplicatedRig(rigOptions, seed)
  const rig = await createRig(rigOptions)
  return { ...rig, each: [rig] }
}

/** Keeps a few files on their way for as long as there are kills to come, and until there were more files. */
async function feed(feeder: Feeder, killer: Killer, options: ChaosOptions): Promise<void> {
  while (killer.kills.length < options.kills || feeder.files.length <= options.kills) {
    const inFlight = feeder.files.filter((file) => !file.isAcknowledged).length
    const allowed = filesInFlightMax + killer.kills.length * filesForEachKill
    if (inFlight < filesInFlightMax && feeder.files.length < allowed) await feeder.sendNext()
    else await sleep(lookMs)
  }
}

async function murder(killer: Killer, options: ChaosOptions): Promise<void> {
  for (let done = 0; done < options.kills; ) {
    await killer.kill(done)
    done = killer.kills.length
    if (done % 10 === 0) options.say(`${done} of ${options.kills} kills`)
  }
}

/** Until files are acknowledged, arrivals settled and customers known, or the time is up. */
async function untilEnded(rig: Rig, feeder: Feeder, registrar: CustomerCalls): Promise<void> {
  const until = performance.now() + endMsMax
  while (performance.now() < until) {
    const arrivals = await arrivalsOf(rig).catch(() => undefined)
    const isSettled = arrivals?.every((one) => one.settled === 1) ?? false
    const areKnown = (await registrar.missing().catch(() => 1)) === 0
    if (isSettled && areKnown && feeder.files.every((file) => file.isAcknowledged)) return
    await sleep(lookMs)
  }
}

import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import type { PipelineContext } from '../context.js'
import { queueOpenHistory } from '../customers/backfill.js'
import { askedArrivals } from '../customers/held.js'
import { openRequests } from '../customers/history-requests.js'
import { publishAnnounced, unpublishedRows } from '../ledger/announced.js'
import { isGroup, unfinishedFiles } from '../ledger/file-state.js'
import { rewriteRejectsFiles } from '../ledger/rejects-files.js'
import { reportMachine } from '../machine.js'
import { attempt, ifThere } from '../sources/disk.js'
import { batchesOf } from '../store/batches.js'
import type { Store } from '../store/clickhouse.js'
import { join as joined, literal, type Sql, sql } from '../store/sql.js'
import { dropStaging, stagedArrivals, stagingTables } from '../store/staging.js'
import { readyDays } from '../usage/days/stale.js'
import { beginAll, forward, queueClaim } from './forward.js'
import { queueReprocessing, reprocessActsOpen } from './reprocess.js'

/**
 * Queues every unfinished file of the ledger again, by the same rule by which steps follow each
 * other. If nothing was lost, the ids of the jobs make that harmless. Claims of held reads are queued
 * too, and changes of ownership whose worker died are published. What there is to do is asked at once,
 * and only where there is something a task is begun.
 */
export async function sweep(
  context: PipelineContext,
  asTask: (step: () => Promise<void>) => Promise<void> = (step) => step(),
): Promise<void> {
  const found = await haveRows(context.store, steps)
  if (found.size === 0) return
  await asTask(async () => {
    for (const [at, { run }] of steps.entries()) if (found.has(at)) await run(context)
  })
}

interface SweepStep {
  /** Has rows where there is something to do. */
  readonly look: Sql
  readonly run: (context: PipelineContext) => Promise<void>
}

const steps: readonly SweepStep[] = [
  { look: unfinishedFiles, run: queueUnfinished },
  { look: askedArrivals, run: queueClaim },
  { look: unpublishedRows(), run: (context) => publishAnnounced(context) },
  { look: openRequests, run: queueOpenHistory },
  { look: reprocessActsOpen, run: queueReprocessing },
  { look: readyDays, run: ({ queues }) => queues.add('days', { v: 1 }) },
  { look: stagingTables, run: dropDeadStaging },
]

async function queueUnfinished(context: PipelineContext): Promise<void> {
  const { arrivals, states } = await context.ledger.unfinished()
  await beginAll(context, arrivals)
  for (const state of states) {
    if (state.status === 'waiting') {
      await context.queues.add('reconcile', { v: 1, arrival: state.arrival })
    } else await forward(context, state)
  }
}

/** The places of the steps with something to do; of all where not every table can be read. */
async function haveRows(store: Store, looked: readonly SweepStep[]): Promise<ReadonlySet<number>> {
  const looks = looked.map(
    ({ look }, at) => sql`(SELECT ${literal(at)} AS at FROM (${look}) LIMIT 1)`,
  )
  try {
    const rows = await store.rows<{ at: number }>({ sql: joined(looks, sql` UNION ALL `) })
    return new Set(rows.map(({ at }) => at))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return new Set(looked.keys())
  }
}

/** What each machine does for its own disk: reports itself, and removes what nobody needs any more. */
export async function sweepMachine(context: PipelineContext): Promise<void> {
  await reportMachine(context)
  await rewriteRejectsFiles(context)
  await dropDeadLandings(context)
}

/** Drops staging of settled files whose worker died between two statements. */
async function dropDeadStaging(context: PipelineContext): Promise<void> {
  const numbers = await stagedArrivals(context.store)
  const settled = await settledOf(context, numbers)
  for (const number of numbers) {
    const isDead = isGroup(number) ? await isGroupDead(context, number) : settled.has(number)
    if (isDead) await dropStaging(context.store, number)
  }
}

/** Files of one statement: each comes with its manifest. */
const statesMax = 200

/** Those of some arrivals that are settled. */
async function settledOf(
  { ledger }: PipelineContext,
  numbers: readonly number[],
): Promise<ReadonlySet<number>> {
  const settled = new Set<number>()
  const arrivals = new Set(numbers.filter((number) => !isGroup(number)))
  for (const batch of batchesOf([...arrivals], statesMax)) {
    for (const { arrival, settledAt } of await ledger.states(batch)) {
      if (settledAt !== undefined) settled.add(arrival)
    }
  }
  return settled
}

/** A group without files is being loaded, or its worker died while it was. */
const loadingMsMax = 600_000

async function isGroupDead({ store, ledger }: PipelineContext, group: number): Promise<boolean> {
  const members = await ledger.grouped(group)
  if (members.length > 0) return members.every(({ settledAt }) => settledAt !== undefined)
  const [row] = await store.rows<{ age: string }>({
    sql: sql`SELECT dateDiff('millisecond', min(metadata_modification_time), now()) AS age
      FROM system.tables
      WHERE database = currentDatabase() AND startsWith(name, ${`staging_${group}_`})`,
  })
  return Number(row?.age ?? 0) > loadingMsMax
}

/**
 * Deletes chunks, copies and parts of copies of settled files. Creates the folder if somebody removed
 * it; its chunks are landed again.
 */
async function dropDeadLandings(context: PipelineContext): Promise<void> {
  const { landing } = context.folders
  const names = await attempt(landing, async () => {
    await mkdir(landing, { recursive: true, mode: 0o700 })
    return readdir(landing)
  })
  const landings = names.flatMap((name) => {
    const number = /^(\d+)(\.file.*)?$/.exec(name)?.[1]
    return number === undefined ? [] : [{ path: join(landing, name), number: Number(number) }]
  })
  const settled = await settledOf(
    context,
    landings.map(({ number }) => number),
  )
  for (const { path, number } of landings) {
    const isDead = isGroup(number) ? await isOld(path) : settled.has(number)
    if (isDead) await rm(path, { recursive: true, force: true })
  }
}

/** The chunk of a group is removed as soon as it is loaded. */
async function isOld(path: string): Promise<boolean> {
  const found = await ifThere(stat(path))
  return found !== undefined && Date.now() - found.mtimeMs > loadingMsMax
}

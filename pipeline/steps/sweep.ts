import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PipelineContext } from '../context.js'
import { queueOpenHistory } from '../customers/backfill.js'
import { publishAnnounced } from '../ledger/announced.js'
import { attempt } from '../sources/disk.js'
import { dropStaging, stagedArrivals } from '../store/staging.js'
import { begin, forward, queueClaim } from './forward.js'
import { queueReprocessing } from './reprocess.js'

/**
 * Queues every unfinished file of the ledger again, by the same rule by which steps follow each
 * other. If nothing was lost, the ids of the jobs make that harmless. Claims of held reads are queued
 * too, and changes of ownership whose worker died are published.
 */
export async function sweep(context: PipelineContext): Promise<void> {
  const { arrivals, states } = await context.ledger.unfinished()
  for (const arrival of arrivals) await begin(context, arrival)
  for (const state of states) {
    if (state.status === 'waiting') {
      await context.queues.add('reconcile', { v: 1, arrival: state.arrival })
    } else await forward(context, state)
  }
  await queueClaim(context)
  await publishAnnounced(context)
  await queueOpenHistory(context)
  await queueReprocessing(context)
  await dropDeadStaging(context)
  await dropDeadLandings(context)
}

/** Drops staging of settled files whose worker died between two statements. */
async function dropDeadStaging(context: PipelineContext): Promise<void> {
  for (const arrival of await stagedArrivals(context.store)) {
    const state = await context.ledger.state(arrival)
    if (state?.settledAt !== undefined) await dropStaging(context.store, arrival)
  }
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
  for (const name of names) {
    const number = /^(\d+)(\.file.*)?$/.exec(name)?.[1]
    const state = number === undefined ? undefined : await context.ledger.state(Number(number))
    if (state?.settledAt === undefined) continue
    await rm(join(landing, name), { recursive: true, force: true })
  }
}

import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Line } from '../context.js'
import { queueOpenHistory } from '../customers/backfill.js'
import { attempt } from '../sources/disk.js'
import { areMergesHeld, dropStaging, freeMerges, stagedArrivals } from '../store/staging.js'
import { begin, forward } from './forward.js'
import { queueTakeUps } from './reprocess.js'

/**
 * Repairs what a lost queue forgot: whatever the ledger does not call finished is queued again by
 * the same rule by which steps follow each other. Ids make that harmless where nothing was lost.
 */
export async function sweep(line: Line): Promise<void> {
  const { arrivals, states } = await line.ledger.unfinished()
  for (const arrival of arrivals) await begin(line, arrival)
  for (const state of states) {
    if (state.status === 'waiting') {
      await line.queues.add('reconcile', { v: 1, arrival: state.arrival })
    } else await forward(line, state)
  }
  await queueOpenHistory(line)
  await queueTakeUps(line)
  await resumeMerges(line)
  await dropDeadStaging(line)
  await dropDeadLandings(line)
}

/** A worker that died behind its last publish left merges held. */
async function resumeMerges(line: Line): Promise<void> {
  if (!(await areMergesHeld(line.store))) return
  const { states } = await line.ledger.unfinished()
  if (states.some((state) => state.status === 'publishing')) return
  await line.store.command(freeMerges)
}

/** Staging that a settled file left behind because its worker died between two statements. */
async function dropDeadStaging(line: Line): Promise<void> {
  for (const arrival of await stagedArrivals(line.store)) {
    const state = await line.ledger.state(arrival)
    if (state?.settledAt !== undefined) await dropStaging(line.store, arrival)
  }
}

/**
 * Chunks, copies and parts of copies that a settled file left behind in the same way. The folder
 * itself is made again where somebody removed it: what was in it is landed again.
 */
async function dropDeadLandings(line: Line): Promise<void> {
  const { landing } = line.folders
  const names = await attempt(landing, async () => {
    await mkdir(landing, { recursive: true, mode: 0o700 })
    return readdir(landing)
  })
  for (const name of names) {
    const number = /^(\d+)(\.file.*)?$/.exec(name)?.[1]
    const state = number === undefined ? undefined : await line.ledger.state(Number(number))
    if (state?.settledAt === undefined) continue
    await rm(join(landing, name), { recursive: true, force: true })
  }
}

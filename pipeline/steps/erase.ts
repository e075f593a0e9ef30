import type { PipelineContext } from '../context.js'
import {
  type DueTermination,
  dueErasures,
  type Erasure,
  eraseBefore,
  eraseRejects,
  eraseRows,
  openErasures,
  recordErasures,
  toErasure,
} from '../customers/erasure.js'
import { renewAll } from '../customers/registrations.js'
import { type Act, recordAct, tieline } from '../ledger/audit.js'
import { toLocalStart } from '../usage/timestamps.js'

/** Accounts that are erased in one go: each table is rewritten once for all of them. */
const accountsMax = 1_000

/**
 * Erases what is known of terminated accounts when their days of grace are over (decision 30). First
 * it is written down that an account is gone, so that no file that is judged from then on brings
 * rows of it; when all files that came before have ended, its rows are taken out of every table and
 * what is left is counted. Done again after a crash it ends in the same.
 */
export async function eraseDue(context: PipelineContext): Promise<void> {
  const { store, profile, zone } = context
  const now = context.now()
  const today = toLocalStart(Math.floor(now.getTime() / 1_000), { zone }).localDay
  const due = await dueErasures(store, { today, ...profile.termination, accountsMax })
  if (due.length > 0) {
    await recordAct(store, tieline, toAct(due, now))
    const starting = await Promise.all(
      due.map((termination) => toErasure(context, termination, now)),
    )
    await recordErasures(store, starting)
  }
  const open = await openErasures(store)
  const started = open.filter(({ state }) => state === 'started')
  const isErasing = started.length > 0 && !(await areFilesAhead(context, started))
  const erased = isErasing ? await erase(context, started) : []
  await eraseRejects(store)
  await finish(context, [...open.filter(({ state }) => state === 'erased'), ...erased])
}

/**
 * Nobody orders an erasure: a termination and the days of grace do. The log outlives all accounts and
 * names none; the tombstones that were started at that instant do.
 */
function toAct(due: readonly DueTermination[], startedAt: Date): Act {
  const detail = `terminated accounts whose days of grace are over: ${due.length}`
  return { act: 'erase', subject: startedAt.toISOString(), detail }
}

async function erase(
  context: PipelineContext,
  started: readonly Erasure[],
): Promise<readonly Erasure[]> {
  const counts = Object.entries(await eraseRows(context.store))
  const erasedAt = context.now()
  const erased = started.map((erasure): Erasure => {
    const own = counts.map(([table, found]) => [table, found.get(erasure.accountNumber) ?? 0])
    return { ...erasure, state: 'erased', erasedAt, counts: Object.fromEntries(own) }
  })
  await recordErasures(context.store, erased)
  return erased
}

/** Who held the meters afterwards did so after nobody that is known. */
async function finish(context: PipelineContext, erased: readonly Erasure[]): Promise<void> {
  if (erased.length === 0) return
  await renewAll(context, metersOf(erased))
  await eraseBefore(context.store)
  await recordErasures(
    context.store,
    erased.map((erasure) => ({ ...erasure, state: 'finished' })),
  )
  context.log.info({ accounts: erased.length }, 'terminated accounts are erased')
}

function metersOf(erasures: readonly Erasure[]): readonly string[] {
  return [...new Set(erasures.flatMap(({ stretches }) => stretches.map(([meterId]) => meterId)))]
}

/** Whether a file that came before may have been judged when the account was still known. */
async function areFilesAhead(
  context: PipelineContext,
  started: readonly Erasure[],
): Promise<boolean> {
  const since = Math.max(...started.map(({ startedAt }) => startedAt.getTime()))
  const { states } = await context.ledger.unfinished()
  return states.some(({ status, receivedAt }) => {
    const isOpen = status === 'received' || status === 'publishing'
    return isOpen && receivedAt.getTime() <= since
  })
}

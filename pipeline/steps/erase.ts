import type { PipelineContext } from '../context.js'
import {
  dueErasures,
  erasedMeters,
  eraseLate,
  eraseRejects,
  eraseRows,
  everErased,
  metersOfLate,
  pending,
  toErasure,
} from '../customers/erasure/erasure.js'
import { forgetErased } from '../customers/erasure/names.js'
import {
  type DueTermination,
  type Erasure,
  openErasures,
  recordErasures,
} from '../customers/erasure/tombstones.js'
import { renewAll } from '../customers/registrations.js'
import { changeOf, forgetClients, nameChange, publishChanges } from '../ledger/announced.js'
import { type Act, recordAct, tieline } from '../ledger/audit.js'
import { eraseRejectsFiles } from '../ledger/rejects-files.js'
import { literal, sql } from '../store/sql.js'
import { toLocalStart } from '../usage/timestamps.js'

/** Meters of one statement, which repeats them five times; the engine reads 262,144 characters. */
const metersMax = 500

/** Accounts that are erased together: each table is rewritten once for all of them. */
const accountsMax = 1_000

/**
 * Erases what is known of terminated accounts when their days of grace are over (decision 30). The
 * erasure is recorded first, so that later verdicts count rows of the account as unregistered. When
 * all earlier files have ended, its rows are deleted from every table and counted. A repeated run
 * after a crash has the same result.
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
  await eraseRejectsFiles(context, everErased)
  await eraseRejects(store)
  await finish(context, [...open.filter(({ state }) => state === 'erased'), ...erased])
}

/**
 * The audit entry of erasures, which follow from terminations and the days of grace. The log is kept
 * longer than accounts and names none; the tombstones with the same start do.
 */
function toAct(due: readonly DueTermination[], startedAt: Date): Act {
  const detail = `terminated accounts whose days of grace are over: ${due.length}`
  return { act: 'erase', subject: startedAt.toISOString(), detail }
}

/**
 * What readers lose is announced before its rows are deleted, and published after that. Repeated
 * after a crash it is the same change, so that nothing of it is missed.
 */
async function erase(
  context: PipelineContext,
  started: readonly Erasure[],
): Promise<readonly Erasure[]> {
  const { store, profile } = context
  const since = Math.min(...started.map(({ startedAt }) => startedAt.getTime()))
  const change = { id: changeOf(`erasure ${since}`), timeZone: profile.timeZone }
  await eraseRejectsFiles(context, pending)
  const counts = Object.entries(await eraseRows(store, change))
  await publishChanges(context, [change.id])
  const erasedAt = context.now()
  const erased = started.map((erasure): Erasure => {
    const own = counts.map(([table, found]) => [table, found.get(erasure.accountNumber) ?? 0])
    return { ...erasure, state: 'erased', erasedAt, counts: Object.fromEntries(own) }
  })
  await recordErasures(store, erased)
  return erased
}

/** Derives the tenancies at the meters again: the next tenant has no known predecessor. */
async function finish(context: PipelineContext, erased: readonly Erasure[]): Promise<void> {
  const { store } = context
  await renewAll(context, metersOf(erased))
  await eraseWhatCameLate(context)
  await forgetErased(store)
  if (erased.length === 0) return
  await forgetClients(store, erasedMeters)
  await recordErasures(
    store,
    erased.map((erasure) => ({ ...erasure, state: 'finished' })),
  )
  context.log.info({ accounts: erased.length }, 'terminated accounts are erased')
}

/** Registrations that ran beside an erasure, and what followed from them. */
async function eraseWhatCameLate(context: PipelineContext): Promise<void> {
  const { store, profile } = context
  const meterIds = await metersOfLate(store)
  if (meterIds.length === 0) return
  const change = { id: nameChange(), timeZone: profile.timeZone }
  await eraseLate(store, change)
  await publishChanges(context, [change.id])
  await renewAll(context, meterIds)
  for (let at = 0; at < meterIds.length; at += metersMax) {
    const some = literal(meterIds.slice(at, at + metersMax))
    await forgetClients(store, sql`SELECT arrayJoin(${some})`)
  }
}

function metersOf(erasures: readonly Erasure[]): readonly string[] {
  return [...new Set(erasures.flatMap(({ stretches }) => stretches.map(([meterId]) => meterId)))]
}

/**
 * Whether an earlier file may have been judged while the account was still known, or its rejects file
 * is still to be written.
 */
async function areFilesAhead(
  context: PipelineContext,
  started: readonly Erasure[],
): Promise<boolean> {
  const since = Math.max(...started.map(({ startedAt }) => startedAt.getTime()))
  const { states } = await context.ledger.unfinished()
  return states.some(({ status, receivedAt }) => {
    return status !== 'waiting' && receivedAt.getTime() <= since
  })
}

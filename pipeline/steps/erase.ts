import type { PipelineContext } from '../context.js'
import { dueErasures, toErasures, weighAgain } from '../customers/erasure/due.js'
import {
  erasedMeters,
  erasedTables,
  eraseLate,
  eraseLateBills,
  eraseRejects,
  eraseRows,
  everErased,
  lateMeters,
  pending,
} from '../customers/erasure/erasure.js'
import { forgetClients, forgetErased } from '../customers/erasure/names.js'
import {
  type DueTermination,
  type Erasure,
  openErasures,
  recordErasures,
} from '../customers/erasure/tombstones.js'
import { findAsked } from '../customers/held.js'
import { renewAll } from '../customers/registrations.js'
import { changeOf, nameChange, publishChanges } from '../ledger/announced.js'
import { type Act, recordAct, tieline } from '../ledger/audit.js'
import { eraseRejectsFiles } from '../ledger/rejects-files.js'
import type { Store } from '../store/clickhouse.js'
import { tableBehind } from '../store/replicas.js'
import { sql } from '../store/sql.js'
import { buildDays } from '../usage/days/build.js'
import { areErasedStale } from '../usage/days/stale.js'
import { toLocalStart } from '../usage/timestamps.js'

/** Accounts that are erased together: each table is rewritten once for all of them. */
const accountsMax = 1_000

/** How far the clock of another machine may be ahead. */
const clockMsMax = 600_000

/** How long a run waits for replicas that lag; the next one looks again. */
const replicaSeconds = 45

interface Waiting {
  readonly replicaSeconds: number
}

/**
 * Erases what is known of terminated accounts when their days of grace are over (decision 30). The
 * erasure is recorded first, so that later verdicts count rows of the account as unregistered. When
 * all earlier files have ended, its rows are deleted from every table and counted. A repeated run
 * after a crash has the same result. Also erases what was stored since of accounts erased earlier.
 */
export async function eraseDue(
  context: PipelineContext,
  waiting: Waiting = { replicaSeconds },
): Promise<void> {
  const { store } = context
  for (let isMore = true; isMore; ) {
    // Erasures that were begun together are one change, which is finished before the next is begun.
    const mayBeMore = (await isStarted(store)) || (await startDue(context))
    const ever = await store.rows({ sql: sql`SELECT 1 FROM ${everErased} LIMIT 1` })
    if (ever.length === 0) return
    const erased = await eraseOpen(context)
    await eraseRejectsFiles(context, everErased)
    await eraseRejects(store)
    await finish(context, erased, waiting)
    isMore = mayBeMore && !(await isStarted(store))
  }
}

/** Whether an erasure waits for files, or was cut short. */
async function isStarted(store: Store): Promise<boolean> {
  return (await store.rows({ sql: sql`SELECT 1 FROM ${pending} LIMIT 1` })).length > 0
}

/** Goes on with erasures that a file, a crash or a replica held up. */
export async function eraseStarted(context: PipelineContext): Promise<void> {
  const erased = await eraseOpen(context)
  if (erased.length > 0) await finish(context, erased, { replicaSeconds })
}

/** The erasures whose rows are deleted, now or by a run that ended there. */
async function eraseOpen(context: PipelineContext): Promise<readonly Erasure[]> {
  const open = await openErasures(context.store)
  return [...open.filter(({ state }) => state === 'erased'), ...(await erase(context, open))]
}

/** Whether more may be due. */
async function startDue(context: PipelineContext): Promise<boolean> {
  const { store, profile, zone } = context
  const now = context.now()
  const today = toLocalStart(Math.floor(now.getTime() / 1_000), { zone }).localDay
  const due = await dueErasures(store, { today, ...profile.termination, accountsMax })
  if (due.length === 0) return false
  await recordAct(store, tieline, toAct(due, now))
  await recordErasures(store, await toErasures(context, due, now))
  return due.length === accountsMax
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
  open: readonly Erasure[],
): Promise<readonly Erasure[]> {
  const { store, profile } = context
  const begun = open.filter(({ state }) => state === 'started')
  if (begun.length === 0 || (await areFilesAhead(context, begun))) return []
  let started = await weighAgain(context, begun)
  await recordErasures(store, started)
  const since = Math.min(...started.map(({ startedAt }) => startedAt.getTime()))
  const change = { id: changeOf(`erasure ${since}`), timeZone: profile.timeZone }
  await eraseRejectsFiles(context, pending)
  await eraseRows(store, change, async (table, found) => {
    started = started.map((one) => countRows(one, table, found))
    await recordErasures(store, started)
  })
  await publishChanges(context, [change.id])
  const erasedAt = context.now()
  const erased = started.map((one): Erasure => ({ ...one, state: 'erased', erasedAt }))
  await recordErasures(store, erased)
  return erased
}

/** Repeated after a crash, an erasure finds fewer rows of a table than before, or as many. */
function countRows(erasure: Erasure, table: string, found: ReadonlyMap<string, number>): Erasure {
  const { counts, accountNumber } = erasure
  const rows = Math.max(counts[table] ?? 0, found.get(accountNumber) ?? 0)
  return { ...erasure, counts: { ...counts, [table]: rows } }
}

/**
 * Derives the tenancies at the meters again: the next tenant has no known predecessor. Erasures are
 * finished when all replicas have deleted the rows; until then the run of each hour goes on with it.
 */
async function finish(
  context: PipelineContext,
  erased: readonly Erasure[],
  waiting: Waiting,
): Promise<void> {
  const { store, log } = context
  await renewAll(context, metersOf(erased))
  await eraseWhatCameLate(context)
  await forgetErased(store)
  if (erased.length === 0) return
  await forgetClients(store, erasedMeters)
  while (await buildDays(store));
  const accounts = erased.length
  if (await areErasedStale(store)) {
    log.warn({ accounts }, 'days of erased accounts are still stored')
    return
  }
  const behind = await tableBehind(store, erasedTables(), waiting.replicaSeconds)
  if (behind !== undefined) {
    log.warn({ accounts, table: behind }, 'a replica still has rows of erased accounts')
    return
  }
  await recordErasures(
    store,
    erased.map((erasure) => ({ ...erasure, state: 'finished' })),
  )
  log.info({ accounts }, 'terminated accounts are erased')
}

/**
 * Bills and registrations that ran beside an erasure, and what followed from them. Clients are forgotten first: the
 * rows that are deleted after it are how the meters are found.
 */
async function eraseWhatCameLate(context: PipelineContext): Promise<void> {
  const { store, profile } = context
  await eraseLateBills(store)
  const late = await store.rows<{ meter: string }>({ sql: lateMeters })
  const meterIds = late.map(({ meter }) => meter)
  if (meterIds.length === 0) return
  await forgetClients(store, lateMeters)
  const change = { id: nameChange(), timeZone: profile.timeZone }
  await eraseLate(store, change)
  await publishChanges(context, [change.id])
  await renewAll(context, meterIds)
}

function metersOf(erasures: readonly Erasure[]): readonly string[] {
  return [...new Set(erasures.flatMap(({ stretches }) => stretches.map(([meterId]) => meterId)))]
}

/**
 * Whether an earlier file may have been judged while the account was still known, or its rejects file
 * is still to be written; or held reads were asked for, which may be the account's.
 */
async function areFilesAhead(
  context: PipelineContext,
  started: readonly Erasure[],
): Promise<boolean> {
  const since = Math.max(...started.map(({ startedAt }) => startedAt.getTime()))
  const { states } = await context.ledger.unfinished()
  if ((await findAsked(context.store)) !== undefined) return true
  return states.some(({ status, receivedAt }) => {
    // A verdict may be older than the erasure, whatever the clock said when its file was received.
    if (status === 'publishing') return true
    return status !== 'waiting' && receivedAt.getTime() <= since + clockMsMax
  })
}

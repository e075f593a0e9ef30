import { daysBehind } from '../../schemas/rating/slots.js'
import type { PipelineContext } from '../context.js'
import { isLeftAlone } from '../queues/back-off.js'
import type { RowReader } from '../store/replicas.js'
import { askOneServer } from '../whole.js'
import { isPausing, nextFailure } from './failure.js'
import {
  type BillFile,
  isTouched,
  type PeriodState,
  readFilesSince,
  readPeriods,
  recordPeriod,
} from './periods.js'
import { bill, localDay } from './run.js'

type DueContext = Pick<PipelineContext, 'store' | 'profile' | 'zone' | 'now' | 'queues' | 'log'>

/**
 * Periods queued at a time, the latest first. When bills are computed for the first time the others wait
 * for their turn, and periods that new files touch come first.
 */
export const queuedMax = 16

/** Queues a run for each period whose bills are due, also after the queue was lost. */
export async function queueDue(context: DueContext): Promise<void> {
  for (const { cycleId, first: start } of await findDue(context)) {
    await context.queues.add('bill', { v: 1, cycleId, start })
  }
}

/**
 * Computes the bills of a period if they are due: a job that was queued twice, or that another worker
 * has done, changes nothing. A failure is recorded and retried with exponential back-off.
 */
export async function billWhenDue(
  context: DueContext,
  { cycleId, start }: { readonly cycleId: string; readonly start: string },
): Promise<void> {
  const isNamed = (one: PeriodState) => one.cycleId === cycleId && one.first === start
  const [period] = await findDue(context, isNamed)
  if (period === undefined) return
  try {
    const { bills, total } = await bill(context, { cycleId, start })
    context.log.info({ job: 'bill', cycle: cycleId, start, bills, total }, 'bills are published')
  } catch (error) {
    await recordPeriod(
      context.store,
      period,
      nextFailure(period, error, { job: 'bill', now: context.now() }),
    )
    throw error
  }
  if (period.failures > 0) await recordPeriod(context.store, period)
}

const dayMs = 86_400_000
const minuteMs = 60_000
/** A change this long before bills were published may have been too late for their run. */
const runMsMax = 10 * minuteMs

/**
 * The periods whose bills are to be computed now. One that has ended is due when files have come with
 * something of it and some minutes have passed since the first of them. An open one is due once a
 * day, and so is one that has ended since, or whose customers or rates have changed since. A server that lags may
 * have a file and not its reads, and files that touch nothing are not looked at again.
 */
function findDue(
  context: DueContext,
  isMeant: (period: PeriodState) => boolean = () => true,
): Promise<readonly PeriodState[]> {
  return askOneServer(context.store, undefined, (server) => findOn(server, context, isMeant))
}

async function findOn(
  server: RowReader,
  context: DueContext,
  isMeant: (period: PeriodState) => boolean,
): Promise<readonly PeriodState[]> {
  const { store, profile } = context
  const { companyCodes, billing } = profile
  const now = context.now().getTime()
  const today = localDay(context)
  const all = await readPeriods(server, { companyCodes, today, ...billing })
  const periods = all.filter((one) => isMeant(one) && !isPausing(one, context.now()))
  const files = await filesOf(server, periods)
  const due: PeriodState[] = []
  for (const period of periods) {
    if (due.length === queuedMax) break
    const isOpen = period.last >= today
    if (isDaily(context, period) && (isOpen || isBehind(context, period))) due.push(period)
    if (isOpen || due.at(-1) === period) continue
    const news = files.filter((file) => mayTouch(file, period))
    const [earliest, latest] = [news[0], news.at(-1)]
    if (earliest === undefined || latest === undefined) continue
    const quietMs = billing.quietMinutes * minuteMs
    if (isLeftAlone({ untilMs: earliest.publishedAt + quietMs, nowMs: now, mostMs: quietMs }))
      continue
    if (
      await isTouched(server, { period, files: news, daysBehind: daysBehind(billing.periodClock) })
    )
      due.push(period)
    else await recordPeriod(store, { ...period, knownAt: latest.publishedAt })
  }
  return due
}

async function filesOf(
  server: RowReader,
  periods: readonly PeriodState[],
): Promise<readonly BillFile[]> {
  if (periods.length === 0) return []
  return readFilesSince(server, Math.min(...periods.map(({ knownAt }) => knownAt)))
}

/** An hour of a day may lie in the day before or after of another clock. */
function mayTouch({ publishedAt, from, to }: BillFile, period: PeriodState): boolean {
  const [first, last] = [Date.parse(period.first) - dayMs, Date.parse(period.last) + 2 * dayMs]
  return publishedAt > period.knownAt && from < last + dayMs && to > first
}

/** Whether the hour of the day has come and the bills are of another day. */
function isDaily(context: DueContext, period: PeriodState): boolean {
  const { hour } = context.zone.toWall(Math.floor(context.now().getTime() / 1_000))
  return (
    hour >= context.profile.billing.dailyHour && billedOn(context, period) !== localDay(context)
  )
}

/** Whether a period was open when its bills were computed, or customers or rates have changed since. */
function isBehind(context: DueContext, period: PeriodState): boolean {
  const { billedAt, changedAt, last } = period
  if (billedAt === 0) return false
  return billedOn(context, period) <= last || changedAt > billedAt - runMsMax
}

function billedOn({ zone }: DueContext, { billedAt }: PeriodState): string {
  return localDay({ zone, now: () => new Date(billedAt) })
}

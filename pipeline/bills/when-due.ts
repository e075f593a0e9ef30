import { Fault } from '../../schemas/fault.js'
import { daysBehind } from '../../schemas/rating/slots.js'
import type { PipelineContext } from '../context.js'
import { logFailure } from '../failure.js'
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
  recordPeriods,
} from './periods.js'
import { billTogether, localDay } from './run.js'

type DueContext = Pick<PipelineContext, 'store' | 'profile' | 'zone' | 'now' | 'queues' | 'log'>

/**
 * Periods queued at a time, the latest first. When bills are computed for the first time the others wait
 * for their turn, and periods that new files touch come first.
 */
export const queuedMax = 16

/** Tenancies whose periods are computed together; one cycle alone may have more. */
const togetherMax = 50_000

/**
 * Queues a run for periods whose bills are due, also after the queue was lost: one for those with the same
 * days, which are computed together. Returns whether there are any.
 */
export async function queueDue(context: DueContext): Promise<boolean> {
  const due = await findDue(context, { isOneOfEach: true })
  for (const { cycleId, first: start } of due) {
    await context.queues.add('bill', { v: 1, cycleId, start })
  }
  return due.length > 0
}

/**
 * Computes the bills of a period if they are due, together with those of other cycles that are due and have the
 * same days: a job that was queued twice, or that another worker has done, changes nothing. A failure
 * is recorded and retried with exponential back-off.
 */
export async function billWhenDue(
  context: DueContext,
  { cycleId, start }: { readonly cycleId: string; readonly start: string },
): Promise<void> {
  const isNamed = (one: PeriodState) => one.cycleId === cycleId && one.first === start
  const [period] = await findDue(context, { isMeant: isNamed })
  if (period === undefined) return
  const isMeant = (one: PeriodState) => groupOf(one) === groupOf(period)
  const all = await findDue(context, { isMeant, most: Infinity })
  const others = all.filter((one) => !isNamed(one))
  await billThese(context, upTo(togetherMax, [period, ...others]))
}

/**
 * What is computed together. Periods whose runs have failed hold no other up, and are not tried one by one: what
 * has failed for all cycles would otherwise take hours afterwards.
 */
const groupOf = ({ first, last, failures }: PeriodState) => `${first} ${last} ${failures > 0}`

/** The first of some periods, and as many others as do not exceed some tenancies with it. */
function upTo(most: number, periods: readonly PeriodState[]): readonly PeriodState[] {
  let sum = 0
  return periods.filter(({ tenancies }, at) => {
    sum += tenancies
    return at === 0 || sum <= most
  })
}

async function billThese(context: DueContext, periods: readonly PeriodState[]): Promise<void> {
  const { store, log, now } = context
  const [one] = periods as readonly [PeriodState]
  try {
    for (const { cycleId, bills, total } of await billTogether(context, periods)) {
      log.info(
        { job: 'bill', cycle: cycleId, start: one.first, bills, total },
        'bills are published',
      )
    }
  } catch (error) {
    if (periods.length > 1) {
      logFailure(log, { job: 'bill', cycles: periods.length }, error)
      return billHalves(context, periods)
    }
    await recordPeriods(store, periods, nextFailure(one, error, { job: 'bill', now: now() }))
    throw error
  }
  // Those that are computed together have all failed before, or none has.
  if (one.failures > 0) await recordPeriods(store, periods)
}

/**
 * Each half by itself, until only the period that fails is left without bills. A passing fault of a half may be one
 * of its size, and one of a single period ends all.
 */
async function billHalves(context: DueContext, periods: readonly PeriodState[]): Promise<void> {
  const half = Math.ceil(periods.length / 2)
  const failures: unknown[] = []
  for (const some of [periods.slice(0, half), periods.slice(half)]) {
    try {
      await billThese(context, some)
    } catch (error) {
      if (error instanceof Fault && error.retry) throw error
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
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
function findDue(context: DueContext, wanted: DueWanted): Promise<readonly PeriodState[]> {
  return askOneServer(context.store, undefined, (server) => findOn(server, context, wanted))
}

interface DueWanted {
  readonly isMeant?: (period: PeriodState) => boolean
  /** Only one of those that are computed together. */
  readonly isOneOfEach?: boolean
  /** How many periods: `queuedMax` by default. */
  readonly most?: number
}

async function findOn(
  server: RowReader,
  context: DueContext,
  { isMeant = () => true, isOneOfEach = false, most = queuedMax }: DueWanted,
): Promise<readonly PeriodState[]> {
  const { store, profile } = context
  const { companyCodes, billing } = profile
  const now = context.now().getTime()
  const today = localDay(context)
  const all = await readPeriods(server, { companyCodes, today, ...billing })
  const periods = all.filter((one) => isMeant(one) && !isPausing(one, context.now()))
  const files = await filesOf(server, periods)
  const due: PeriodState[] = []
  const isOfSome = (period: PeriodState) => due.some((one) => groupOf(one) === groupOf(period))
  for (const period of periods) {
    if (due.length === most) break
    if (isOneOfEach && isOfSome(period)) continue
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
    else await recordPeriods(store, [{ ...period, knownAt: latest.publishedAt }])
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

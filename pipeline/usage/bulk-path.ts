import type { Commodity } from '../../schemas/feed.js'
import type { PipelineContext } from '../context.js'
import { hand, handingOf, isRefused, type Reader, readerOf } from '../handing.js'
import type { LoadTask } from '../kind.js'
import type { Store } from '../store/clickhouse.js'
import { id, sql } from '../store/sql.js'
import { createRepeats, createTexts, stagingOf } from '../store/staging.js'
import { gatherTimestamps, storeInBulk } from './judge.js'
import { rulesOf } from './sample.js'
import { explainTimestamp, type TimestampMeaning } from './timestamps.js'

export interface InBulk {
  /** How the engine reads the chunk. */
  readonly reader: Reader
  /** Rows that it says it has stored; undefined where it does not say. */
  readonly rows: number | undefined
}

/**
 * Bulk path: the engine stores the rows of a chunk that are clearly valid and whose timestamps are
 * known. Returns undefined where it cannot: the chunk is unsplittable, or the engine refuses its quotes.
 */
export async function loadInBulk(
  context: PipelineContext,
  task: LoadTask,
): Promise<InBulk | undefined> {
  const { chunk } = task
  const reader = readerOf(chunk)
  if (reader === undefined) return undefined
  try {
    const plain = await storeRows(context, task, { reader, into: 'reads' })
    if (!chunk.repeats) return { reader, rows: plain }
    await createRepeats(context.store, task.arrival)
    const repeated = await storeRows(context, task, { reader, into: 'repeats' })
    return {
      reader,
      rows: plain === undefined || repeated === undefined ? undefined : plain + repeated,
    }
  } catch (error) {
    if (isRefused(error, reader)) return undefined
    throw error
  }
}

/**
 * Gathers the timestamps of a chunk of which rows are left, and has the engine store those whose
 * timestamp nobody had seen. Returns whether there are any.
 */
export async function loadUnseenInBulk(
  context: PipelineContext,
  task: LoadTask,
  reader: Reader,
): Promise<boolean> {
  const { arrival, chunk, extraColumns } = task
  const handing = handingOf(context, task)
  await createTexts(context.store, arrival)
  await hand(context, task, {
    statement: gatherTimestamps({ arrival, chunk, reader, handing, extraColumns }),
    reader,
    token: 'timestamps',
  })
  const fresh = await explainTimestamps(context, task)
  const hasRepeated = await hasRepeats(context, task)
  if (fresh) await storeRows(context, task, { reader, into: 'reads', again: true })
  if (hasRepeated) await createRepeats(context.store, arrival)
  if (hasRepeated) await storeRows(context, task, { reader, into: 'repeats', again: true })
  return fresh || hasRepeated
}

interface Storing {
  readonly reader: Reader
  readonly into: 'reads' | 'repeats'
  /** Whether some rows are there already; these are left out. */
  readonly again?: boolean
}

function storeRows(
  context: PipelineContext,
  task: LoadTask,
  storing: Storing,
): Promise<number | undefined> {
  const { negative, quantityMax } = context.profile.usage
  const { reader, into, again = false } = storing
  const rules = {
    commodity: task.feed,
    negativeAllowed: negative[task.feed as Commodity],
    quantityMax,
    yields: context.profile.usage.estimates === 'yield',
  }
  const handing = handingOf(context, task)
  const statement = storeInBulk({ ...task, ...rules, reader, handing, into, again })
  return hand(context, task, { statement, reader, token: `${into}${again ? '-again' : ''}` })
}

/** Whether a timestamp of the chunk lies in the hour that the clock repeats. */
async function hasRepeats(
  context: PipelineContext,
  { arrival, chunk }: LoadTask,
): Promise<boolean> {
  const { texts, timestamps } = stagingOf(arrival)
  const rows = await context.store.rows({
    sql: sql`SELECT 1 FROM ${id(texts)} WHERE chunk = ${chunk.chunk}
      AND text IN (SELECT text FROM ${id(timestamps)} WHERE second_at != 0) LIMIT 1`,
  })
  return rows.length > 0
}

/** Writes down what each timestamp means that nobody had seen; whether one means anything. */
async function explainTimestamps(context: PipelineContext, task: LoadTask): Promise<boolean> {
  const { texts, timestamps } = stagingOf(task.arrival)
  const unknown = await context.store.rows<{ text: string }>({
    sql: sql`SELECT DISTINCT text FROM ${id(texts)}
      WHERE chunk = ${task.chunk.chunk} AND text NOT IN (SELECT text FROM ${id(timestamps)})`,
  })
  const rules = rulesOf(context, task)
  const meanings = unknown.flatMap(({ text }) => explainTimestamp(text, rules) ?? [])
  await storeTimestamps(context.store, task.arrival, meanings)
  return meanings.length > 0
}

/** Writes down what timestamps of a file mean. */
export async function storeTimestamps(
  store: Store,
  arrival: number,
  timestamps: readonly TimestampMeaning[],
): Promise<void> {
  if (timestamps.length === 0) return
  await store.insert(stagingOf(arrival).timestamps, timestamps.map(toTimestampRow))
}

const noSecond = { startsAt: 0, localDay: '1970-01-01', localHour: 0 }

function toTimestampRow({ text, first, second = noSecond }: TimestampMeaning): object {
  return {
    text,
    starts_at: first.startsAt,
    local_day: first.localDay,
    local_hour: first.localHour,
    second_at: second.startsAt,
    second_day: second.localDay,
    second_hour: second.localHour,
  }
}

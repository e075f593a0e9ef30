import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { recordFeedOf } from '../../schemas/feed.js'
import { formatQuantity } from '../../schemas/quantity.js'
import type { RecordFeed, RecordRow, RecordVerdict } from '../../schemas/record-feed.js'
import { rejectCodes } from '../../schemas/usage-row.js'
import type { PipelineContext } from '../context.js'
import { chunkPath } from '../files/landing.js'
import { type RawRow, splitRows } from '../files/rows.js'
import { type Reader, readerOf } from '../handing.js'
import type { LoadTask } from '../kind.js'
import type { ChunkReceipt } from '../ledger/ledger.js'
import { onceSettings } from '../store/staging.js'
import { versionOf } from '../store/versions.js'
import { batch, escapeTab, missingRows, toRejectRow } from '../usage/row-path.js'
import { storePlain } from './bulk-path.js'
import { judgeRawRecord, rawQuantity } from './judge.js'
import { countChunk, insertRecords } from './store.js'

const rejectBatch = 5_000

/**
 * Loads one chunk of records into the staging table of its file. The engine stores the plain rows; each
 * row that it leaves is judged: the good ones travel in one insert under one token, the bad ones are
 * written down with line, column, code and what was expected. The receipt says what the store counts.
 */
export async function loadRecords(context: PipelineContext, task: LoadTask): Promise<ChunkReceipt> {
  const { chunk } = task
  const feed = recordFeedOf(task.feed) as RecordFeed
  const { plain } = feed
  const reader = plain && readerOf(chunk)
  const inBulk = reader && (await storePlain(context, task, { feed, plain, reader }))
  const isLeft = inBulk !== chunk.rows
  const rejected = isLeft ? await judgeRows(context, task, { feed, reader }) : nothing
  const stored = isLeft ? await countChunk(context.store, chunkOf(task)) : chunk.rows
  return {
    chunk: chunk.chunk,
    rowsRead: stored + rejected.rows,
    rowsAccepted: stored,
    rowsRejected: rejected.rows,
    quantityRejected: formatQuantity(rejected.micros),
  }
}

const nothing = { rows: 0, micros: 0n }

interface Left {
  readonly feed: RecordFeed
  /** How the engine has read the chunk; undefined where all of its rows are left. */
  readonly reader: Reader | undefined
}

/** Row path: judges the rows of a chunk that the engine has not stored, and returns what was rejected. */
async function judgeRows(
  context: PipelineContext,
  task: LoadTask,
  { feed, reader }: Left,
): Promise<typeof nothing> {
  const { arrival, chunk } = task
  const bytes = await readFile(chunkPath(context.folders.landing, task))
  const pages =
    reader === undefined ? [splitRows(bytes, chunk.line)] : missingRows(context, task, bytes)
  const judged = createJudged(context, { task, feed, pages })
  await context.store.command(
    {
      sql: insertRecords(feed, arrival),
      settings: onceSettings(`records-${arrival}-${chunk.line}-${chunk.rows}`),
    },
    Readable.from(batch(judged.accepted()), { objectMode: false }),
  )
  return judged.rejected()
}

function chunkOf({ arrival, chunk: { line, lines } }: LoadTask) {
  return { arrival, line, lines }
}

interface Judging {
  readonly task: LoadTask
  readonly feed: RecordFeed
  readonly pages: Iterable<Iterable<RawRow>> | AsyncIterable<Iterable<RawRow>>
}

/** Judges rows as the store asks for them; unusable rows go to `reject`. */
function createJudged({ store, profile }: PipelineContext, { task, feed, pages }: Judging) {
  const rules = {
    feed,
    header: task.columns ?? feed.columns,
    extraColumns: task.extraColumns,
    rowBytesMax: profile.limits.rowBytesMax,
  }
  const counted = { rows: 0, micros: 0n }
  const rejects: object[] = []
  const flush = () => store.insert('reject', rejects.splice(0))
  /** The row as staging takes it; undefined where it is rejected. */
  const judge = (row: RawRow): string | undefined => {
    const judged = judgeRawRecord(row.raw, rules)
    const isCut = row.line >= (task.chunk.cutLine ?? Number.POSITIVE_INFINITY)
    const verdict = isCut ? refuseCut(judged, rules.header) : judged
    if (verdict.outcome === 'accepted') {
      return toStagingRow(feed, verdict.row, versionOf(task.arrival, row.line))
    }
    const { micros } = rawQuantity(row.raw, rules)
    counted.rows++
    counted.micros += micros
    rejects.push(toRejectRow(task.arrival, row, { ...verdict, micros }))
    return undefined
  }
  return {
    accepted: async function* (): AsyncGenerator<string> {
      for await (const rows of pages) {
        for (const row of rows) {
          const staged = judge(row)
          if (staged !== undefined) yield staged
          else if (rejects.length >= rejectBatch) await flush()
        }
      }
    },
    rejected: async () => {
      if (rejects.length > 0) await flush()
      return counted
    },
  }
}

/** A good row may still lack the end of its last column. */
function refuseCut(verdict: RecordVerdict, header: readonly string[]): RecordVerdict {
  if (verdict.outcome === 'rejected') return verdict
  const { detail } = rejectCodes.MAYBE_CUT
  return { outcome: 'rejected', code: 'MAYBE_CUT', column: header.at(-1) ?? '', detail }
}

/** Tab-separated, in the order of the feed's columns, the version last. */
function toStagingRow(feed: RecordFeed, row: RecordRow, version: bigint): string {
  let text = ''
  for (const column of feed.columns) {
    const value = row[column]
    text += value == null ? '\\N\t' : `${escapeTab(value)}\t`
  }
  return `${text}${version}\n`
}

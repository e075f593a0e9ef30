import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { recordFeedOf } from '../../schemas/feed.js'
import { formatQuantity } from '../../schemas/quantity.js'
import type { RecordFeed, RecordRow, RecordVerdict } from '../../schemas/record-feed.js'
import { rejectCodes } from '../../schemas/usage-row.js'
import type { PipelineContext } from '../context.js'
import { chunkPath } from '../files/landing.js'
import { splitRows } from '../files/rows.js'
import type { LoadTask } from '../kind.js'
import type { ChunkReceipt } from '../ledger/ledger.js'
import { onceSettings } from '../store/staging.js'
import { versionOf } from '../store/versions.js'
import { batch, escapeTab, toRejectRow } from '../usage/row-path.js'
import { judgeRawRecord, rawQuantity } from './judge.js'
import { countRecords, insertRecords } from './store.js'

const rejectBatch = 5_000

/**
 * Loads one chunk of records into the staging table of its file: every row is judged, the good ones
 * travel in one insert under one token, the bad ones are written down with line, column, code and
 * what was expected. The receipt says what the store counts.
 */
export async function loadRecords(context: PipelineContext, task: LoadTask): Promise<ChunkReceipt> {
  const { arrival, chunk } = task
  const feed = recordFeedOf(task.feed) as RecordFeed
  const bytes = await readFile(chunkPath(context.folders.landing, task))
  const judged = createJudged(context, { task, feed, bytes })
  await context.store.command(
    {
      sql: insertRecords(feed, arrival),
      settings: onceSettings(`records-${arrival}-${chunk.line}-${chunk.rows}`),
    },
    Readable.from(batch(judged.accepted()), { objectMode: false }),
  )
  const rejected = await judged.rejected()
  const stored = await countRecords(context.store, feed, chunkOf(task))
  return {
    chunk: chunk.chunk,
    rowsRead: stored.rows + rejected.rows,
    rowsAccepted: stored.rows,
    rowsRejected: rejected.rows,
    quantityRejected: formatQuantity(rejected.micros),
  }
}

function chunkOf({ arrival, chunk: { line, lines } }: LoadTask) {
  return { arrival, line, lines }
}

interface Judging {
  readonly task: LoadTask
  readonly feed: RecordFeed
  readonly bytes: Buffer
}

/** Judges the rows of a chunk as the store asks for them; unusable rows go to `reject`. */
function createJudged({ store, profile }: PipelineContext, { task, feed, bytes }: Judging) {
  const rules = {
    feed,
    header: task.columns ?? feed.columns,
    extraColumns: task.extraColumns,
    rowBytesMax: profile.limits.rowBytesMax,
  }
  const counted = { rows: 0, micros: 0n }
  const rejects: object[] = []
  const flush = () => store.insert('reject', rejects.splice(0))
  return {
    accepted: async function* (): AsyncGenerator<string> {
      for (const row of splitRows(bytes, task.chunk.line)) {
        const judged = judgeRawRecord(row.raw, rules)
        const isCut = row.line === task.chunk.cutLine
        const verdict = isCut ? refuseCut(judged, rules.header) : judged
        if (verdict.outcome === 'accepted') {
          yield toStagingRow(feed, verdict.row, versionOf(task.arrival, row.line))
          continue
        }
        const { micros } = rawQuantity(row.raw, rules)
        counted.rows++
        counted.micros += micros
        rejects.push(toRejectRow(task.arrival, row, { ...verdict, micros }))
        if (rejects.length >= rejectBatch) await flush()
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

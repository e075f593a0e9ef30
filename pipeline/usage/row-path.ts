import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as others } from 'node:timers/promises'
import { trimBlanks } from '../../schemas/field.js'
import { formatQuantity } from '../../schemas/quantity.js'
import type { TimestampReader } from '../../schemas/time/read-timestamp.js'
import {
  type AcceptedRow,
  judgeUsageRow,
  qualityOf,
  type RejectCode,
  type RejectedRow,
  rejectCodes,
  type UsageRules,
  type UsageVerdict,
} from '../../schemas/usage-row.js'
import type { PipelineContext } from '../context.js'
import { parseRow, unreadableCode } from '../files/csv.js'
import { chunkPath } from '../files/landing.js'
import { lastQuantity, linePicker, type RawRow, splitRows } from '../files/rows.js'
import type { Reader } from '../handing.js'
import type { LoadTask } from '../kind.js'
import { id, sql } from '../store/sql.js'
import { createRepeats, createTexts, onceSettings, stagingOf } from '../store/staging.js'
import { missingLines, versionOf } from '../store/versions.js'
import { storeTimestamps } from './bulk-path.js'
import { rulesOf } from './sample.js'
import { explainTimestamp, rememberTimestamps, toLocalStart } from './timestamps.js'

export interface RowPathCounts {
  readonly accepted: number
  readonly rejected: number
  readonly rejectedMicros: bigint
}

/** So much of a rejected row is kept. */
export const rawCharactersMax = 1_000
const rejectBatch = 5_000
/** Lines that are asked for at once: all of a usual chunk, at most 16 MB of line numbers. */
const linesAtOnce = 4_000_000

/**
 * Judges the rows of a chunk that the engine has not stored, one by one: the good ones join the
 * others in staging, the bad ones are written down with line, column and reason.
 */
export async function loadRowByRow(
  context: PipelineContext,
  task: LoadTask,
  reader: Reader | undefined,
): Promise<RowPathCounts> {
  const bytes = await readFile(chunkPath(context.folders.landing, task))
  const pages =
    reader === undefined ? [splitRows(bytes, task.chunk.line)] : missingRows(context, task, bytes)
  const counted = { accepted: 0, rejected: 0, rejectedMicros: 0n }
  const rules = rulesOf(context, task)
  const { extraColumns = 0 } = task
  const remembered = rememberTimestamps(rules)
  const texts = new Set<string>()
  const twice = new Set<string>()
  const repeats: string[] = []
  const rejects: object[] = []
  const flush = () => context.store.insert('reject', rejects.splice(0))
  async function* acceptedRows(): AsyncGenerator<string> {
    for await (const rows of pages) {
      for (const row of rows) {
        const fields = parseRow(row.raw)
        if (fields?.length === 5 + extraColumns) texts.add(fields[3] as string)
        const isCut = row.line >= (task.chunk.cutLine ?? Number.POSITIVE_INFINITY)
        const judged = judgeParsedRow({ raw: row.raw, fields }, rules, remembered)
        const verdict = isCut ? refuseCut(judged) : judged
        if (verdict.outcome === 'accepted') {
          counted.accepted++
          const staged = toStagingRow(context, task, { line: row.line, fields, verdict })
          if (verdict.starts.length > 1) {
            repeats.push(staged)
            twice.add(trimBlanks(fields?.[3] ?? ''))
          } else yield staged
        } else {
          counted.rejected++
          counted.rejectedMicros += verdict.micros
          rejects.push(toRejectRow(task.arrival, row, verdict))
          if (rejects.length >= rejectBatch) await flush()
        }
      }
    }
  }
  await storeAccepted(context, task, { into: 'reads', rows: acceptedRows() })
  if (repeats.length > 0) {
    const timestamps = [...twice].flatMap((text) => explainTimestamp(text, rules) ?? [])
    await storeTimestamps(context.store, task.arrival, timestamps)
    await createRepeats(context.store, task.arrival)
    await storeAccepted(context, task, { into: 'repeats', rows: repeats })
  }
  if (rejects.length > 0) await flush()
  if (reader === undefined) await keepTexts(context, task, texts)
  return counted
}

/** The timestamps of a chunk that the engine has not read are evidence too (decision 13). */
async function keepTexts(
  context: PipelineContext,
  task: LoadTask,
  texts: ReadonlySet<string>,
): Promise<void> {
  const { arrival, chunk } = task
  const rows = [...texts].map((text) => ({ text, chunk: chunk.chunk }))
  if (rows.length === 0) return
  await createTexts(context.store, arrival)
  await context.store.insert(stagingOf(arrival).texts, rows)
}

/** The rows of a chunk that are not in staging, as many at a time as memory has room for. */
export async function* missingRows(
  context: PipelineContext,
  { arrival, chunk }: LoadTask,
  bytes: Buffer,
): AsyncGenerator<Iterable<RawRow>> {
  const pick = linePicker(bytes, chunk.line)
  const end = chunk.line + chunk.lines
  for (let from = chunk.line; from < end; from += linesAtOnce) {
    const lines = Math.min(linesAtOnce, end - from)
    const statement = missingLines({ arrival, line: from, lines })
    yield pick(lineNumbers(await buffer(await context.store.stream(statement, 'RowBinary'))))
  }
}

function* lineNumbers(binary: Buffer): Generator<number> {
  for (let at = 0; at < binary.length; at += 4) yield binary.readUInt32LE(at)
}

export interface RawRowRules extends UsageRules {
  readonly rowBytesMax: number
}

/** Judges a row as it is in the file, its columns not yet separated. */
export function judgeRawRow(raw: string, rules: RawRowRules): UsageVerdict {
  return judgeParsedRow({ raw, fields: parseRow(raw) }, rules)
}

/** A row and its columns; undefined where its quotes do not match. */
export interface ParsedRow {
  readonly raw: string
  readonly fields: readonly string[] | undefined
}

/** Judges a row whose columns are separated. */
function judgeParsedRow(
  { raw, fields }: ParsedRow,
  rules: RawRowRules,
  read?: TimestampReader,
): UsageVerdict {
  const isTooLong = raw.length * 3 > rules.rowBytesMax && Buffer.byteLength(raw) > rules.rowBytesMax
  const verdict =
    isTooLong || fields === undefined
      ? unreadable(isTooLong ? 'ROW_TOO_LONG' : unreadableCode(raw))
      : judgeUsageRow(fields, rules, read)
  if (verdict.outcome === 'accepted') return verdict
  return { ...verdict, ...lastQuantity(raw, rules.extraColumns) }
}

/** A good row may still lack the end of its quantity. */
function refuseCut(verdict: UsageVerdict): RejectedRow {
  if (verdict.outcome === 'rejected') return verdict
  const { micros, rounded } = verdict
  const { detail } = rejectCodes.MAYBE_CUT
  return { outcome: 'rejected', code: 'MAYBE_CUT', column: 'TotalUnit', detail, micros, rounded }
}

function unreadable(code: RejectCode): RejectedRow {
  const { detail } = rejectCodes[code]
  return { outcome: 'rejected', code, column: '', detail, micros: 0n, rounded: false }
}

interface StagedRow extends Pick<ParsedRow, 'fields'> {
  readonly line: number
  readonly verdict: AcceptedRow
}

/**
 * Tab-separated values have no quotes to go wrong: backslash, tab and line end are escaped. Seconds
 * have ten digits: four alone are a year to the engine.
 */
function toStagingRow(
  { profile, zone }: PipelineContext,
  task: LoadTask,
  { line, fields, verdict }: StagedRow,
): string {
  const { startsAt, localDay, localHour } = toLocalStart(verdict.starts[0] as number, { zone })
  const quality = qualityOf(task.qualities === true ? fields?.[6] : undefined)
  const values = [
    verdict.meterId,
    task.feed,
    String(startsAt).padStart(10, '0'),
    String(task.stated === true ? Number(fields?.[5]) : task.seconds),
    localDay,
    String(localHour),
    formatQuantity(verdict.micros),
    verdict.accountNumber,
    verdict.externalSiteId,
    versionOf(task.arrival, line).toString(),
    quality,
    String(quality === 'estimated' && profile.usage.estimates === 'yield'),
  ]
  return `${values.map(escapeTab).join('\t')}\n`
}

/** A value of a tab-separated row. */
export function escapeTab(text: string): string {
  if (!/[\\\t\n\r]/.test(text)) return text
  return text.replace(
    /[\\\t\n\r]/g,
    (character) => `\\${character === '\\' ? '\\' : escapes[character]}`,
  )
}

const escapes: Readonly<Record<string, string>> = { '\t': 't', '\n': 'n', '\r': 'r' }

/** So much of a rejected row as is shown. */
export function shownRow(raw: string): string {
  return raw.slice(0, rawCharactersMax).replace(/[\uD800-\uDBFF]$/, '')
}

/** A row of the table `reject`. */
export function toRejectRow(
  arrival: number,
  row: RawRow,
  verdict: Pick<RejectedRow, 'detail' | 'micros'> & {
    readonly column: string
    readonly code: string
  },
): object {
  return {
    arrival,
    line: row.line,
    column_name: verdict.column,
    code: verdict.code,
    detail: verdict.detail,
    raw: shownRow(row.raw),
    quantity: formatQuantity(verdict.micros),
  }
}

interface Accepted {
  readonly into: 'reads' | 'repeats'
  readonly rows: AsyncIterable<string> | Iterable<string>
}

async function storeAccepted(
  context: PipelineContext,
  task: LoadTask,
  accepted: Accepted,
): Promise<void> {
  const { arrival, chunk } = task
  const { into, rows } = accepted
  const statement = sql`INSERT INTO ${id(stagingOf(arrival)[into])}
  (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
   account_number, external_site_id, version, quality, yields) FORMAT TabSeparated`
  const settings = onceSettings(`odd-${into}-${arrival}-${chunk.line}-${chunk.rows}`)
  await context.store.command(
    { sql: statement, settings },
    Readable.from(batch(rows), { objectMode: false }),
  )
}

const batchCharacters = 65_536

/**
 * Glues rows into pieces that are worth a write. Behind each the thread is free for a moment: jobs
 * whose locks are not renewed meanwhile would run twice.
 */
export async function* batch(
  rows: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<string> {
  let piece = ''
  for await (const row of rows) {
    piece += row
    if (piece.length < batchCharacters) continue
    yield piece
    await others()
    piece = ''
  }
  if (piece !== '') yield piece
}

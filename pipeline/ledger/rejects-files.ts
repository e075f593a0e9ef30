import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat, utimes } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import type { PipelineContext } from '../context.js'
import { erasedRejects, everErased, isErasedReject } from '../customers/erasure/erasure.js'
import { knownMachines } from '../machine.js'
import { ifThere, writeWhole } from '../sources/disk.js'
import type { Store } from '../store/clickhouse.js'
import { type Sql, sql } from '../store/sql.js'
import { recordAct, tieline } from './audit.js'
import { arrivalPaths, latestPaths } from './outbox.js'

/** The line and text of a rejected row as its sender knows them. */
export const sentLine = sql`if(sent_line = 0, reject.line, sent_line)`
export const sentText = sql`if(sent_line = 0, reject.raw, sent)`

const separators = String.raw`^|[,;|"\t\r\n]`
const formulaStart = String.raw`(${separators})([ ']*[=+\-@\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}])`
const blankStart = String.raw`^([ ']*[\t\r\n])`
const number = String.raw`[+-](?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`
const quotedColumn = `(,)'(${number})(,|$)`
const quotedCell = `^()'(${number})()$`

/**
 * A text in which no spreadsheet finds a formula, whichever separator it splits at: an apostrophe is
 * put before each start of one. A column or a cell that is a number, such as -5.2, stays as it is.
 * Removing one apostrophe before each remaining start restores the text.
 */
function inert(text: Sql): Sql {
  const visible = sql`replaceRegexpOne(${text}, ${blankStart}, ${String.raw`'\1`})`
  const quoted = sql`replaceRegexpAll(${visible}, ${formulaStart}, ${String.raw`\1'\2`})`
  const restore = (from: Sql, pattern: string) =>
    sql`replaceRegexpAll(${from}, ${pattern}, ${String.raw`\1\2\3`})`
  // Twice, because neighbours share a comma.
  return restore(restore(restore(quoted, quotedColumn), quotedColumn), quotedCell)
}

/** Writes the rejected rows of an arrival as CSV, without those of which a condition holds. */
export async function writeRejects(
  store: Store,
  { arrival, without = sql`0` }: { readonly arrival: number; readonly without?: Sql },
  path: string,
): Promise<void> {
  const rows = await store.stream(
    {
      sql: sql`SELECT ${sentLine} AS Line, ${inert(sql`column_name`)} AS Column, code AS Code,
          ${inert(sql`detail`)} AS Detail, ${inert(sentText)} AS Row
        FROM reject FINAL WHERE arrival = ${arrival} AND NOT (${without}) ORDER BY reject.line`,
      settings: { format_csv_delimiter: ',' },
    },
    'CSVWithNames',
  )
  await pipeline(rows, createWriteStream(path))
}

/**
 * Has the rejects files rewritten without the rows of `erasures` (decision 30), and records before how
 * many rows there are. It goes by the stored rejected rows, which are deleted after it. Any machine may
 * have settled the file once, so each is asked: this one rewrites its files at once, the others with
 * their next sweep.
 */
export async function eraseRejectsFiles(context: PipelineContext, erasures: Sql): Promise<void> {
  const { store, now } = context
  const found = await erasedRejects(store, erasures)
  if (found.length === 0) return
  const rows = found.reduce((sum, one) => sum + one.rows, 0)
  const asked_at = now().toISOString()
  await recordAct(store, tieline, {
    act: 'erase',
    subject: asked_at,
    detail: `rows of erased accounts in rejects files: ${rows}, of arrivals: ${found.length}`,
  })
  const machines = await knownMachines(context)
  const asked = machines.flatMap((machine) =>
    found.map(({ arrival }) => ({ machine, arrival, asked_at })),
  )
  await store.insert('rejects_erasure', asked)
  await rewriteRejectsFiles(context)
}

/**
 * Rewrites the rejects files that this machine was asked for. Without the rows of all erasures: those of
 * one that is going on may still be stored.
 */
export async function rewriteRejectsFiles(context: PipelineContext): Promise<void> {
  const { store, machine } = context
  const asked = await store.rows<{ arrival: number; asked_at: string }>({
    sql: sql`SELECT arrival, toString(asked_at) AS asked_at FROM rejects_erasure FINAL
      WHERE machine = ${machine} AND NOT done ORDER BY asked_at, arrival`,
  })
  for (const { arrival } of asked) await rewriteRejects(context, arrival)
  const done = asked.map((one) => ({ ...one, machine, done: true }))
  if (done.length > 0) await store.insert('rejects_erasure', done)
}

/**
 * The file under the name comes first: as long as the arrival's own file is the old one, equal bytes
 * show that both are of this arrival.
 */
async function rewriteRejects(
  { store, ledger, folders }: PipelineContext,
  arrival: number,
): Promise<void> {
  const state = await ledger.state(arrival)
  if (state === undefined) return
  const own = arrivalPaths(folders.outbox, state).rejects
  const latest = latestPaths(folders.outbox, state).rejects
  const written = await ifThere(stat(own))
  if (written === undefined) return
  const isLatest = (await ifThere(stat(latest))) !== undefined && (await areEqual(own, latest))
  for (const path of isLatest ? [latest, own] : [own]) {
    const write = async (part: string) => {
      await writeRejects(store, { arrival, without: isErasedReject(everErased) }, part)
      await utimes(part, written.atime, written.mtime)
    }
    await writeWhole(path, write, `${path}.${arrival}.part`)
  }
}

async function areEqual(a: string, b: string): Promise<boolean> {
  return (await hashOf(a)) === (await hashOf(b))
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer)
  return hash.digest('hex')
}

import { Fault } from '../../schemas/fault.js'
import { parseFileName } from '../../schemas/file-name.js'
import type { PipelineContext } from '../context.js'
import { inflate } from '../files/inflate.js'
import { landedFolder } from '../files/landing.js'
import type { FileState } from '../ledger/file-state.js'
import { sql } from '../store/sql.js'
import { shownRow } from '../usage/row-path.js'
import type { SentRecord } from './format.js'
import { openFile } from './formats.js'
import { firstPlainLine, plainLinesOf } from './plain-rows.js'

/** A row of the table `reject`. */
interface StoredReject {
  readonly arrival: number
  readonly line: number
  readonly column_name: string
  readonly code: string
  readonly detail: string
  readonly raw: string
  readonly quantity: string
}

/** Rejected rows that are in memory at once. */
const pageRows = 5_000

/**
 * Gives the rejected rows of a converted file the line and text that its sender knows, and the reason
 * for which its format refused a record. Reads the file once more, only where rows are rejected.
 * Repeating it changes nothing.
 */
export async function traceRejects(context: PipelineContext, state: FileState): Promise<void> {
  const name = parseFileName(state.fileName, context.profile)
  // Only a converted file has no header above its rows.
  if (state.manifest.chunks[0]?.line !== firstPlainLine || state.rows.rejected === 0) return
  const [arrival, source] = [
    await context.ledger.arrival(state.arrival),
    context.sources.get(state.source),
  ]
  if (arrival === undefined || source === undefined) return
  let page = await untraced(context, state.arrival, 0)
  if (page.length === 0) return
  const unpacked = inflate(source.read(arrival), {
    ...context.profile.limits,
    compression: name.compression,
    folder: landedFolder(context.folders.landing, state.arrival),
  })
  const { conversion, input } = await openFile(context, name.feed, unpacked)
  if (conversion === undefined) return
  let line = firstPlainLine
  let traced: object[] = []
  for await (const batch of conversion.records(input)) {
    for (const record of batch) {
      const next = line + plainLinesOf(record)
      for (let first = page[0]; first !== undefined && first.line < next; first = page[0]) {
        traced.push(toTraced(first, record))
        page.shift()
        if (page.length > 0) continue
        await context.store.insert('reject', traced)
        traced = []
        page = await untraced(context, state.arrival, first.line)
        if (page.length === 0) return
      }
      line = next
    }
  }
  throw new Fault('SOURCE_CHANGED', `${state.fileName} has fewer rows than before; send it again`)
}

async function untraced(
  { store }: PipelineContext,
  arrival: number,
  after: number,
): Promise<StoredReject[]> {
  const rows = await store.rows<StoredReject>({
    sql: sql`SELECT arrival, line, column_name, code, detail, raw, toString(quantity) AS quantity
      FROM reject FINAL WHERE arrival = ${arrival} AND line > ${after} AND sent_line = 0
      ORDER BY line LIMIT ${pageRows}`,
  })
  return [...rows]
}

/** The reject of a row that became of a record. */
function toTraced(reject: StoredReject, { line, raw, refused }: SentRecord): object {
  const reason = refused && {
    column_name: refused.column,
    code: refused.code,
    detail: refused.detail,
  }
  return { ...reject, ...reason, sent_line: line, sent: shownRow(raw) }
}

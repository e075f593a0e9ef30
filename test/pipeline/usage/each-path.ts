import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toEntries } from '../../../pipeline/check.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import type { FileEntry } from '../../../pipeline/ledger/ledger.js'
import { toReceipt } from '../../../pipeline/ledger/receipt.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { decide } from '../../../pipeline/steps/reconcile.js'
import { id, sql } from '../../../pipeline/store/sql.js'
import { dropStaging, stagingOf } from '../../../pipeline/store/staging.js'
import type { ChunkFormat } from '../../../schemas/manifest.js'
import { receiptSchema } from '../../../schemas/receipt.js'
import { createZone } from '../../../schemas/time/zone.js'
import { storyProfile } from '../../story/rig/stack.js'
import type { LineByHand } from '../by-hand.js'

/** Each path forced by the format of all chunks: that of the bytes, and those that hold for any. */
const paths = {
  bulk: (format) => format,
  'bulk, as CSV': (format) => (format === 'unsplittable' ? format : 'quoted'),
  row: () => 'unsplittable',
} as const satisfies Record<string, (format: ChunkFormat) => ChunkFormat>

/** The context of a line with another profile. */
export function createContextOf(line: LineByHand) {
  return (options: Readonly<Record<string, unknown>>): PipelineContext => {
    const profile = storyProfile({ profile: options })
    return { ...line.context, profile, zone: createZone(profile.timeZone) }
  }
}

export async function receiveFile(
  context: PipelineContext,
  name: string,
  bytes: string | Buffer,
  known: Pick<FileEntry, 'wholeBy'> = {},
) {
  const path = join(context.folders.inbox, name)
  await writeFile(path, bytes)
  const [entry] = (await toEntries([path])) as [FileEntry]
  const { arrival } = await context.ledger.claim({ ...entry, ...known, source: 'submit' })
  await receive(context, arrival)
  return (await context.ledger.state(arrival)) as FileState
}

/** What becomes of a received file: its receipt, the rows that would be published, its rejects. */
async function judge(context: PipelineContext, state: FileState) {
  const { store } = context
  const { arrival } = state
  const [decided] = (await decide(context, [state])) as [FileState]
  // Later files of the source would wait for one that is still received.
  await context.ledger.record(decided)
  const table = decided.attaches || stagingOf(arrival).reads
  const stored = await store.rows({
    sql: sql`SELECT toUInt32(bitAnd(version, 4294967295)) AS line, meter_id, account_number,
        external_site_id, toUnixTimestamp(starts_at) AS starts_at, local_day, local_hour,
        toString(quantity) AS quantity
      FROM ${id(table)} ORDER BY version`,
  })
  const rejects = await store.rows({
    sql: sql`SELECT line, column_name, code, detail, raw FROM reject FINAL
      WHERE arrival = ${arrival} ORDER BY line`,
  })
  await dropStaging(store, arrival)
  const status = decided.status === 'publishing' ? 'published' : decided.status
  const { receivedAt, seconds, ...receipt } = toReceipt({ ...decided, status })
  receiptSchema.parse({ ...receipt, receivedAt, seconds })
  return { receipt, stored, rejects }
}

const isEven = (arrival: number) => arrival % 2 === 0

/** The file by each path that differs for it, as an arrival of its own, and its manifest. */
export async function byEachPath(context: PipelineContext, name: string, bytes: string | Buffer) {
  const judged = new Map<string, Awaited<ReturnType<typeof judge>>>()
  const first = await receiveFile(context, name, bytes)
  const { manifest } = first
  const tried = new Set<string>()
  for (const [path, force] of Object.entries(paths)) {
    const chunks = manifest.chunks.map((chunk) => ({ ...chunk, format: force(chunk.format) }))
    const formats = chunks.map(({ format }) => format).join()
    if (tried.has(formats)) continue
    tried.add(formats)
    const state = tried.size === 1 ? first : await receiveFile(context, name, bytes)
    const { timestamps } = stagingOf(state.arrival)
    // As if the bytes had shown none: the engine then gathers those that it does not know.
    if (isEven(state.arrival))
      await context.store.command({ sql: sql`TRUNCATE TABLE ${id(timestamps)}` })
    judged.set(path, await judge(context, { ...state, manifest: { ...manifest, chunks } }))
  }
  return { judged, manifest }
}

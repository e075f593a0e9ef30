import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { toEntries } from '../../../pipeline/check.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import { splitRows } from '../../../pipeline/files/rows.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import type { FileEntry } from '../../../pipeline/ledger/ledger.js'
import { toReceipt } from '../../../pipeline/ledger/receipt.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { decide } from '../../../pipeline/steps/reconcile.js'
import { id, sql } from '../../../pipeline/store/sql.js'
import { dropStaging, stagingOf } from '../../../pipeline/store/staging.js'
import { judgeRawRow } from '../../../pipeline/usage/row-path.js'
import { rulesOf } from '../../../pipeline/usage/sample.js'
import { toLocalStart } from '../../../pipeline/usage/timestamps.js'
import { type ChunkFormat, chunkFormats, type Manifest } from '../../../schemas/manifest.js'
import { formatQuantity } from '../../../schemas/quantity.js'
import { balance, receiptSchema } from '../../../schemas/receipt.js'
import { createZone } from '../../../schemas/time/zone.js'
import { sample } from '../../rig/sample.js'
import { header, storyProfile } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'
import { type HostileFile, hostileFiles } from './hostile-rows.js'
import { mixedFiles } from './mixed-file.js'

const hostileCount = sample({ short: 8, long: 160 })
const mixedCount = sample({ short: 6, long: 60 })
const seed = Number(process.argv[2] ?? Date.now() & 0x7fffffff)
/** Of these two take part in every run, by its seed. */
const utilities = [
  { timeZone: 'America/Detroit', usage: { rejectedShareMax: 1 } },
  { timeZone: 'America/St_Johns', usage: { rejectedShareMax: 0.2 } },
  { timeZone: 'America/Chicago', usage: { rejectedShareMax: 1, clock: 'standard' } },
  { timeZone: 'America/Toronto', usage: { rejectedShareMax: 1 } },
  { timeZone: 'Australia/Lord_Howe', usage: { rejectedShareMax: 1 } },
  { timeZone: 'America/Phoenix', usage: { dateOrder: 'DMY' } },
] as const

/** Each path forced by the format of all chunks: that of the bytes, and those that hold for any. */
const paths = {
  bulk: (format) => format,
  'bulk, as CSV': (format) => (format === 'unsplittable' ? format : 'quoted'),
  row: () => 'unsplittable',
} as const satisfies Record<string, (format: ChunkFormat) => ChunkFormat>

const line = await createLineByHand(t)
t.comment(`seed ${seed}`)

function contextOf(options: Readonly<Record<string, unknown>>): PipelineContext {
  const profile = storyProfile({ profile: options })
  return { ...line.context, profile, zone: createZone(profile.timeZone) }
}

async function receiveFile(context: PipelineContext, name: string, bytes: string | Buffer) {
  const path = join(context.folders.inbox, name)
  await writeFile(path, bytes)
  const [entry] = (await toEntries([path])) as [FileEntry]
  const { arrival } = await context.ledger.claim({ ...entry, source: 'submit' })
  await receive(context, arrival)
  return (await context.ledger.state(arrival)) as FileState
}

/** What becomes of a received file: its receipt, the rows that would be published, its rejects. */
async function judge(context: PipelineContext, state: FileState) {
  const { store } = context
  const { arrival } = state
  const [decided] = (await decide(context, [state])) as [FileState]
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

/** The file by each path that differs for it, as an arrival of its own, and its manifest. */
async function byEachPath(context: PipelineContext, name: string, bytes: string | Buffer) {
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
    judged.set(path, await judge(context, { ...state, manifest: { ...manifest, chunks } }))
  }
  return { judged, manifest }
}

/** What the row judge says of every row of a file, in the shape of the store's answers. */
function expected(context: PipelineContext, { feed, body }: HostileFile, manifest: Manifest) {
  const { zone } = context
  const rules = rulesOf(context, { feed, ...manifest })
  const stored: object[] = []
  const rejects: object[] = []
  let micros = 0n
  for (const { line, raw } of splitRows(Buffer.from(body), 2)) {
    const verdict = judgeRawRow(raw, rules)
    micros += verdict.micros
    if (verdict.outcome === 'rejected') {
      const { column, code, detail } = verdict
      rejects.push({ line, column_name: column, code, detail, raw: raw.slice(0, 1_000) })
    } else {
      const start = verdict.starts[0] as number
      const { localDay, localHour } = toLocalStart(start, { zone })
      stored.push({
        line,
        meter_id: verdict.meterId,
        account_number: verdict.accountNumber,
        external_site_id: verdict.externalSiteId,
        starts_at: start,
        local_day: localDay,
        local_hour: localHour,
        quantity: formatQuantity(verdict.micros),
      })
    }
  }
  const rows = { read: stored.length + rejects.length, rejected: rejects.length }
  return {
    receipt: { status: 'published', rows, quantity: { read: formatQuantity(micros) } },
    stored,
    rejects,
  }
}

t.test('each path takes every hostile row as the row judge does', async (t) => {
  // So near to Greenwich that the first instants of 1970 have few digits.
  const context = contextOf({ timeZone: 'Atlantic/Azores', usage: { rejectedShareMax: 1 } })
  const formats = new Set<ChunkFormat>()
  for (const file of hostileFiles({ seed, count: hostileCount })) {
    const { judged, manifest } = await byEachPath(context, file.name, `${header}\n${file.body}`)
    for (const { format } of manifest.chunks) formats.add(format)
    const { receipt, stored, rejects } = expected(context, file, manifest)
    for (const [path, one] of judged) {
      const what = `${file.name} of seed ${seed} (${file.mode}), ${path} path`
      t.match(one.receipt, receipt, what)
      t.ok(balance(one.receipt), `${what} balances`)
      t.same(one.stored, stored, `${what}: accepted rows`)
      t.same(one.rejects, rejects, `${what}: rejected rows`)
    }
  }
  const wanted = sample({ short: 2, long: chunkFormats.length })
  t.ok(formats.size >= wanted, `in ${[...formats].join(', ')}`)
})

async function judgeMixed(t: Test, utility: (typeof utilities)[number]): Promise<void> {
  const context = contextOf(utility)
  for (const file of mixedFiles({ seed, count: mixedCount, zone: context.zone })) {
    const { judged } = await byEachPath(context, file.name, file.bytes)
    const [bulk, ...others] = judged.values()
    const what = `${file.name} of seed ${seed}`
    t.ok(bulk !== undefined && balance(bulk.receipt), `${what} balances`)
    const isAlike = others.map((one) => t.same(one, bulk, what)).every(Boolean)
    if (!isAlike && file.text.length < 20_000) t.comment(file.text)
  }
}

for (const turn of [0, 1]) {
  const utility = utilities[(seed + turn * 3) % utilities.length] as (typeof utilities)[number]
  t.test(`all paths judge mixed files alike in ${utility.timeZone}`, (t) => judgeMixed(t, utility))
}

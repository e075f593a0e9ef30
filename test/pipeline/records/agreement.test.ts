import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import type { PipelineContext } from '../../../pipeline/context.js'
import { splitRows } from '../../../pipeline/files/rows.js'
import { readerOf } from '../../../pipeline/handing.js'
import { kindOf } from '../../../pipeline/kinds.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { storePlain } from '../../../pipeline/records/bulk-path.js'
import { judgeRawRecord, rawQuantity } from '../../../pipeline/records/judge.js'
import { loadTasks } from '../../../pipeline/steps/forward.js'
import { loadAndBalance } from '../../../pipeline/steps/load.js'
import { id, join as joined, sql } from '../../../pipeline/store/sql.js'
import { dropStaging, stagingOf } from '../../../pipeline/store/staging.js'
import { feedNames, recordFeedOf } from '../../../schemas/feed.js'
import { type ChunkFormat, chunkFormats } from '../../../schemas/manifest.js'
import { formatQuantity } from '../../../schemas/quantity.js'
import { type RecordFeed, storeColumn } from '../../../schemas/record-feed.js'
import { sample } from '../../rig/sample.js'
import { createLineByHand } from '../by-hand.js'
import { createContextOf, receiveFile } from '../usage/each-path.js'
import { type HostileFile, hostileFiles } from './hostile-rows.js'

const seed = Number(process.argv[2] ?? Date.now() & 0x7fffffff)
const count = sample({ short: 1, long: 40 })
t.comment(`seed ${seed}`)

const golden = join(packageRoot(import.meta.url), 'test', 'golden')
const names = readdirSync(golden)
const feeds = feedNames.flatMap((name) => recordFeedOf(name) ?? [])
const line = await createLineByHand(t)
const limits = { rowBytesMax: '1 KB', freeDiskBytesMin: 0 }
const files = { lastLineEnd: 'optional', extraColumns: 'ignore' }
const context = createContextOf(line)({ files, limits, usage: { rejectedShareMax: 1 } })

/** What the row judge says of every row of a file, in the shape of the store's answers. */
function expected(feed: RecordFeed, { text, extra }: HostileFile) {
  const [head = ''] = text.split(/\r?\n/)
  const header = head.split(',').slice(0, extra === 0 ? undefined : -extra)
  const { rowBytesMax } = context.profile.limits
  const rules = { feed, header, extraColumns: extra, rowBytesMax }
  const stored: object[] = []
  const rejects: object[] = []
  let micros = 0n
  for (const { line, raw } of splitRows(Buffer.from(text.slice(text.indexOf('\n') + 1)), 2)) {
    const verdict = judgeRawRecord(raw, rules)
    micros += rawQuantity(raw, rules).micros
    if (verdict.outcome === 'rejected') {
      const { column: column_name, code, detail } = verdict
      // At most 1,000 characters, and no half of one.
      const shown = raw.slice(0, 1_000).replace(/[\uD800-\uDBFF]$/u, '')
      rejects.push({ line, column_name, code, detail, raw: shown })
      continue
    }
    const values = feed.columns.map((name) => [storeColumn(name), verdict.row[name]])
    stored.push({ line, ...Object.fromEntries(values) })
  }
  const rows = { read: stored.length + rejects.length, rejected: rejects.length }
  return { rows, quantity: formatQuantity(micros), stored, rejects }
}

/** What staging has of a received file once it is loaded, after loads that died on their way and at its end. */
async function loaded(path: PipelineContext, feed: RecordFeed, state: FileState) {
  const { store } = path
  let inBulk = 0
  for (const task of loadTasks(state)) {
    const { plain } = feed
    const reader = readerOf(task.chunk)
    if (plain && reader) inBulk += (await storePlain(path, task, { feed, plain, reader })) ?? 0
    await kindOf(task).load(path, task)
  }
  const { receipts } = await loadAndBalance(path, state)
  const columns = feed.columns.map((name) => {
    return sql`toString(s.${id(storeColumn(name))}) AS ${id(storeColumn(name))}`
  })
  const stored = await store.rows({
    sql: sql`SELECT toUInt32(bitAnd(version, 4294967295)) AS line, ${joined(columns, sql`, `)}
      FROM ${id(stagingOf(state.arrival).reads)} AS s ORDER BY version`,
  })
  const rejects = await store.rows({
    sql: sql`SELECT line, column_name, code, detail, raw FROM reject FINAL
      WHERE arrival = ${state.arrival} ORDER BY line`,
  })
  await dropStaging(store, state.arrival)
  const rejected = receipts.reduce((sum, one) => sum + one.rowsRejected, 0)
  const rows = { read: state.rows.read, rejected }
  return { inBulk, judged: { rows, quantity: state.quantity.read, stored, rejects } }
}

/** The engine takes a blank line, and a carriage return behind a line end, for a part of that. */
const isOddCsv = /(^|\n)(\r|\n)/

/** Each path forced by the format of all chunks: that of the bytes, and those that hold for any. */
const paths = {
  bulk: (format) => format,
  'bulk, as CSV': (format, text) =>
    format === 'lines' && !isOddCsv.test(text) ? 'quoted' : format,
  row: () => 'unsplittable',
} as const satisfies Record<string, (format: ChunkFormat, text: string) => ChunkFormat>

const formats = new Set<ChunkFormat>()

/** Compares what each path that differs for a file makes of it, and returns how many rows the engine took. */
async function compare(t: Test, feed: RecordFeed, file: HostileFile): Promise<number> {
  const tried = new Set<string>()
  let inBulk = 0
  for (const [path, force] of Object.entries(paths)) {
    const isBody = path === 'bulk' && file.text.length % 2 === 0
    const by = { ...context, ...(isBody && { storeLanding: undefined }) }
    const state = await receiveFile(by, `DEMO_05022026_${feed.name}.csv`, file.text)
    const { manifest } = state
    const chunks = manifest.chunks.map((chunk) => ({
      ...chunk,
      format: force(chunk.format, file.text),
    }))
    const forced = chunks.map(({ format }) => format).join()
    if (tried.has(forced)) continue
    tried.add(forced)
    for (const { format } of chunks) formats.add(format)
    const found = await loaded(by, feed, { ...state, manifest: { ...manifest, chunks } })
    inBulk += found.inBulk
    t.same(found.judged, expected(feed, file), `${feed.name}, ${file.mode}, ${path} path`)
  }
  return inBulk
}

t.test('each path takes every hostile row as the row judge does', async (t) => {
  let inBulk = 0
  for (const [at, feed] of feeds.entries()) {
    const name = names.find((one) => one.endsWith(`_${feed.name}.csv`)) as string
    const good = readFileSync(join(golden, name), 'utf8')
    for (const file of hostileFiles(good, { seed: seed + 100 * at, count })) {
      inBulk += await compare(t, feed, file)
    }
  }
  t.ok(inBulk > 0, `${inBulk} rows in bulk`)
  t.equal(formats.size, chunkFormats.length - 1, `in ${[...formats].join(', ')}`)
})

t.test('the engine takes no row of which it sees other columns than the parser', async (t) => {
  const feed = recordFeedOf('Invoices') as RecordFeed
  const row = (number: string, text: string, more: string) =>
    `A1,${number},2026-02-05,2026-02-26,1,Tax,${text},1.50,${more}`
  const rows = {
    'blanks before a quote': [row('1', 'a', ' "b,c"'), row('2', '"a"', 'b,c')],
    'a byte order mark': [`\ufeff${row('1', 'a', 'b,c')}`, row('2', '"a"', 'b,c')],
    'many blanks behind a quote': [
      row('1', `"a"${' '.repeat(1_024)}`, 'b,c'),
      row('2', 'a', 'b,c'),
    ],
    'a carriage return more': [`${row('1', 'a', 'b,c')}\r`, row('2', 'a', 'b,c'), ''],
  }
  for (const [mode, some] of Object.entries(rows)) {
    const text = [[...feed.columns, 'b', 'c'].join(','), ...some, ''].join('\n')
    await compare(t, feed, { text, mode, extra: 2 })
  }
})

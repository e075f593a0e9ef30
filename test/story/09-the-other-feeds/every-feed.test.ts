/**
 * # 9.1 Every feed
 *
 * What: Each feed has a golden file, a view with its columns, and the same promises as usage.
 * Why: A new feed is a value in a table. This chapter holds it to everything that the others
 * promise.
 * Try: Copy a file of test/golden, change a value and load it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import { parseRow } from '../../../pipeline/files/csv.js'
import { splitRows } from '../../../pipeline/files/rows.js'
import { judgeRawRecord, rawQuantity } from '../../../pipeline/records/judge.js'
import { feedNames, recordFeedOf } from '../../../schemas/feed.js'
import { parseFileName } from '../../../schemas/file-name.js'
import { formatQuantity } from '../../../schemas/quantity.js'
import { balance } from '../../../schemas/receipt.js'
import { type RecordFeed, storeColumn } from '../../../schemas/record-feed.js'
import { hostileFile } from '../../pipeline/records/hostile-records.js'
import { openStory, storyProfile } from '../rig/stack.js'

const golden = join(packageRoot(import.meta.url), 'test', 'golden')
const seed = Number(process.argv[2] ?? Date.now() & 0x7fffffff)
const profile = { usage: { rejectedShareMax: 1 }, termination: { graceDays: 36_500 } }
const story = await openStory(t, { profile })
t.comment(`seed ${seed}`)

const files = new Map(
  readdirSync(golden)
    .filter((name) => name.endsWith('.csv'))
    .map((name) => [
      parseFileName(name, storyProfile()).feed,
      readFileSync(join(golden, name), 'utf8'),
    ]),
)
const records = feedNames.flatMap((name) => recordFeedOf(name) ?? [])
const plain = records.filter((feed) => feed.schedule === undefined)
const nameOf = ({ name }: RecordFeed, suffix = '') => `DEMO_05022026_${name}${suffix}.csv`

const none = { rows: 0, micros: 0n }

/** Whether a row has a decimal with more decimals than are kept. */
function hasRounded(feed: RecordFeed, header: readonly string[], raw: string): boolean {
  return (parseRow(raw) ?? []).some((text, at) => {
    const kept = feed.decimals.get(header[at] ?? '')
    const found = /^[ \t]*-?\d{0,12}\.(\d+)[ \t]*$/.exec(text)?.[1] ?? ''
    return kept !== undefined && /[1-9]/.test(found.slice(kept))
  })
}

/** What the row judge says of each row, and the rule that the last row of a key survives. */
function judged(feed: RecordFeed, text: string) {
  const header = text.slice(0, text.indexOf('\n')).split(',')
  const rules = { feed, header, rowBytesMax: storyProfile().limits.rowBytesMax }
  const counts = { read: none, accepted: none, duplicate: none, superseded: none, rejected: none }
  const rejects: object[] = []
  const survivors = new Map<string, string>()
  const meters = new Set<string>()
  let rounded = 0
  const body = Buffer.from(text.slice(text.indexOf('\n') + 1))
  for (const { line, raw } of [...splitRows(body, 2)].reverse()) {
    const verdict = judgeRawRecord(raw, rules)
    const quantity = rawQuantity(raw, rules)
    const count = (outcome: keyof typeof counts) => {
      const { rows, micros } = counts[outcome]
      counts[outcome] = { rows: rows + 1, micros: micros + quantity.micros }
    }
    count('read')
    if (hasRounded(feed, header, raw)) rounded++
    if (verdict.outcome === 'rejected') {
      const { column, code, detail } = verdict
      rejects.unshift({ line, column, code, detail, row: raw.slice(0, 1_000) })
      count('rejected')
      continue
    }
    const { row } = verdict
    if (row['MeterID']) meters.add(row['MeterID'])
    const [key, values] = [feed.key, feed.columns].map((columns) =>
      JSON.stringify(columns.map((column) => row[column])),
    ) as [string, string]
    const survivor = survivors.get(key)
    if (survivor === undefined) survivors.set(key, values)
    count(survivor === undefined ? 'accepted' : survivor === values ? 'duplicate' : 'superseded')
  }
  const each = Object.entries(counts)
  return {
    receipt: {
      rows: Object.fromEntries(each.map(([outcome, { rows }]) => [outcome, rows])),
      quantity:
        feed.total === undefined
          ? null
          : Object.fromEntries(
              each.map(([outcome, { micros }]) => [outcome, formatQuantity(micros)]),
            ),
      meters: meters.size,
      roundedRows: rounded,
    },
    rejects,
  }
}

t.test('every record feed has a golden file and a view with its columns in order', async (t) => {
  for (const feed of records) {
    t.ok(files.has(feed.name as never), `${feed.name} has a golden file`)
    const columns = await story.reader.rows<{ name: string; comment: string }>({
      sql: `SELECT name, comment FROM system.columns
      WHERE database = currentDatabase() AND table = {view:String} ORDER BY position`,
      parameters: { view: feed.view },
    })
    const names = columns.map(({ name }) => name)
    t.same(names.slice(0, feed.columns.length), feed.columns.map(storeColumn), feed.view)
    for (const name of ['file_id', 'version', 'published_at']) t.ok(names.includes(name), name)
    t.same(
      columns.filter(({ comment }) => comment === ''),
      [],
      'each has a comment',
    )
  }
})

t.test('whatever a file contains, each row becomes what the row judge says', async (t) => {
  for (const feed of plain) {
    const text = hostileFile(feed, files.get(feed.name as never) as string, seed)
    const receipt = await story.loadBytes(nameOf(feed, '_2'), text)
    const expected = judged(feed, text)
    const what = `${feed.name} of seed ${seed}`
    t.match(receipt, { status: 'published', ...expected.receipt }, what)
    t.ok(balance(receipt), `${what} balances`)
    t.ok(receipt.rows.rejected > 0 && receipt.rows.accepted > 0, `${what} has rows of both kinds`)
    const rejects = await story.reader.rows({
      sql: `SELECT line, column_name AS column, code, detail, raw AS row FROM rejected_row
        WHERE file_id = {id:String} ORDER BY line`,
      parameters: { id: receipt.fileId },
    })
    t.same(rejects, expected.rejects, `${what}: rejects`)
  }
})

t.test('every golden file is published completely and is in its view', async (t) => {
  for (const feed of plain) {
    const text = files.get(feed.name as never) as string
    const receipt = await story.loadBytes(nameOf(feed), text)
    const rows = text.trimEnd().split('\n').length - 1
    t.match(receipt, { status: 'published', rows: { read: rows, rejected: 0 } }, feed.name)
    t.equal(receipt.quantity === null, feed.total === undefined)
    const [found] = await story.reader.rows<{ rows: string }>({
      sql: `SELECT toString(count()) AS rows FROM ${feed.view}
        WHERE ${storeColumn(feed.key[0] as string)} IN {keys:Array(String)}`,
      parameters: { keys: keysOf(feed, text) },
    })
    t.ok(Number(found?.rows) >= rows, `${feed.view} shows them`)
  }
})

t.test('a file of a header alone is published with 0 rows, except a schedule', async (t) => {
  for (const feed of records) {
    const [header = ''] = (files.get(feed.name as never) as string).split('\n')
    const receipt = await story.loadBytes(nameOf(feed, '_3'), `${header}\n`)
    t.match(receipt.rows, { read: 0, accepted: 0 }, feed.name)
    t.ok(balance(receipt))
    if (feed.schedule === undefined) t.match(receipt, { status: 'published', reason: null })
    else t.match(receipt, { status: 'quarantined', reason: /^NO_ROWS: / })
  }
})

t.test('the complete schedules are published together', async (t) => {
  const schedules = records.filter((feed) => feed.schedule !== undefined)
  const texts = schedules.map((feed) => [nameOf(feed), files.get(feed.name as never) as string])
  const receipts = await story.loadAll(Object.fromEntries(texts))
  for (const [at, feed] of schedules.entries()) {
    const rows = (texts[at]?.[1] ?? '').trimEnd().split('\n').length - 1
    const receipt = receipts[at]
    t.match(receipt, { status: 'published', rows: { read: rows, accepted: rows } }, feed.name)
    t.equal(receipt?.quantity, null)
    const found = await story.reader.rows({ sql: `SELECT * FROM ${feed.view}` })
    t.equal(found.length, rows, feed.view)
  }
})

/** The first key of each row of a golden file. */
function keysOf(feed: RecordFeed, text: string): readonly string[] {
  const [header = '', ...rows] = text.trimEnd().split('\n')
  const at = header.split(',').indexOf(feed.key[0] as string)
  return rows.map((row) => row.split(',')[at] as string)
}

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
import { check } from '../../../pipeline/check/check.js'
import { feedNames, recordFeedOf } from '../../../schemas/feed.js'
import { parseFileName } from '../../../schemas/file-name.js'
import { balance, type Receipt } from '../../../schemas/receipt.js'
import { type RecordFeed, storeColumn } from '../../../schemas/record-feed.js'
import { hostileFile } from '../../pipeline/check/hostile-records.js'
import { createStory, storyProfile } from '../rig/stack.js'

const golden = join(packageRoot(import.meta.url), 'test', 'golden')
const seed = Number(process.argv[2] ?? Date.now() & 0x7fffffff)
const profile = { usage: { rejectedShareMax: 1 }, termination: { graceDays: 36_500 } }
const story = await createStory({ profile })
t.teardown(story.close)
t.comment(`seed ${seed}`)

const files = new Map(
  readdirSync(golden).map((name) => [
    parseFileName(name, storyProfile()).feed,
    readFileSync(join(golden, name), 'utf8'),
  ]),
)
const records = feedNames.flatMap((name) => recordFeedOf(name) ?? [])
const plain = records.filter((feed) => feed.schedule === undefined)
const nameOf = ({ name }: RecordFeed, suffix = '') => `DEMO_05022026_${name}${suffix}.csv`

/** What does not depend on when a file was judged. */
function verdictOf({ receivedAt, publishedAt, seconds, ...verdict }: Receipt) {
  return verdict
}

t.test(
  'every feed of records has a golden file and a view with its columns in order',
  async (t) => {
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
  },
)

t.test('whatever a file contains, load and check judge each row alike', async (t) => {
  for (const feed of plain) {
    const name = nameOf(feed, '_2')
    const bytes = hostileFile(feed, files.get(feed.name as never) as string, seed)
    const receipt = await story.loadBytes(name, bytes)
    const checked = await check(join(story.desk, name), {
      profile: storyProfile({ profile }),
      folder: t.testdir(),
      now: () => new Date(),
      badRowsMax: Number.POSITIVE_INFINITY,
      recordsMax: 64,
    })
    const what = `${feed.name} of seed ${seed}`
    t.same(verdictOf(checked.receipt), verdictOf(receipt), what)
    t.ok(balance(receipt), `${what} balances`)
    t.ok(receipt.rows.rejected > 0 && receipt.rows.accepted > 0, `${what} has rows of both kinds`)
    const rejects = await story.reader.rows({
      sql: `SELECT line, column_name AS column, code, detail, raw AS row FROM rejected_row
        WHERE file_id = {id:String} ORDER BY line`,
      parameters: { id: receipt.fileId },
    })
    t.same(checked.badRows, rejects, `${what}: rejects`)
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

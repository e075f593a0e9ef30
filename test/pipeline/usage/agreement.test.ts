import t, { type Test } from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { splitRows } from '../../../pipeline/files/rows.js'
import { judgeRawRow } from '../../../pipeline/usage/row-path.js'
import { rulesOf } from '../../../pipeline/usage/sample.js'
import { toLocalStart } from '../../../pipeline/usage/timestamps.js'
import { type ChunkFormat, chunkFormats, type Manifest } from '../../../schemas/manifest.js'
import { formatQuantity } from '../../../schemas/quantity.js'
import { balance } from '../../../schemas/receipt.js'
import { sample } from '../../rig/sample.js'
import { header } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'
import { byEachPath, createContextOf } from './each-path.js'
import { type HostileFile, hostileFiles, invisibleFile } from './hostile-rows.js'
import { mixedFiles } from './mixed-file.js'

const hostileCount = sample({ short: 4, long: 160 })
const mixedCount = sample({ short: 4, long: 60 })
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

const line = await createLineByHand(t)
t.comment(`seed ${seed}`)

const contextOf = createContextOf(line)

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
  const context = contextOf({
    timeZone: 'Atlantic/Azores',
    usage: { rejectedShareMax: 1 },
    files: { lastLineEnd: 'optional' },
  })
  const formats = new Set<ChunkFormat>()
  for (const file of [...hostileFiles({ seed, count: hostileCount }), invisibleFile()]) {
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

t.test('no path takes a row that is too long', async (t) => {
  const limits = { rowBytesMax: '1 KB', freeDiskBytesMin: 0 }
  const context = contextOf({
    limits,
    files: { extraColumns: 'ignore' },
    usage: { rejectedShareMax: 1 },
  })
  const long = ' '.repeat(1_100)
  const rows = [
    `"A"${long},S,M1,3/4/2024,1`,
    `A,S,M1,${long}3/4/2024,1`,
    `A,S,M1,3/4/2024,1,${long}`,
  ]
  for (const [at, row] of rows.entries()) {
    const more = at === 2 ? [',more', ','] : ['', '']
    const text = `${header}${more[0]}\n${row}\nA,S,M2,3/4/2024,1${more[1]}\n`
    const { judged } = await byEachPath(context, `DEMO_05032024_Electric_9${at}.csv`, text)
    for (const [path, { stored, rejects }] of judged) {
      t.match(stored, [{ meter_id: 'M2' }], `${at}, ${path} path`)
      t.match(rejects, [{ line: 2, code: 'ROW_TOO_LONG' }], `${at}, ${path} path`)
    }
  }
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

import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { decide } from '../../../pipeline/steps/reconcile.js'
import { id, sql } from '../../../pipeline/store/sql.js'
import { stagingOf } from '../../../pipeline/store/staging.js'
import { type FeedName, feeds } from '../../../schemas/feed.js'
import { sample } from '../../rig/sample.js'
import { createLineByHand } from '../by-hand.js'
import { byEachPath, createContextOf, receiveFile } from '../usage/each-path.js'

const line = await createLineByHand(t)
const contextOf = createContextOf(line)
const auto = contextOf({})
const [required, optional] = ['required', 'optional'].map((lastLineEnd) =>
  contextOf({ files: { lastLineEnd } }),
) as [PipelineContext, PipelineContext]

let number = 0
const nameOf = (feed: string, suffix = '.csv') => `DEMO_05032024_${feed}_${++number}${suffix}`

/** The verdict on a received file, its rejected rows and the rows that would be published. */
async function judge(context: PipelineContext, state: FileState) {
  const { store } = context
  const { arrival } = state
  const [decided] = (await decide(context, [state])) as [FileState]
  const rejects = await store.rows<{ line: number; column: string; code: string }>({
    sql: sql`SELECT line, column_name AS column, code FROM reject FINAL
      WHERE arrival = ${arrival} ORDER BY line`,
  })
  const isPublished = decided.status === 'publishing'
  const table = decided.attaches || stagingOf(arrival).reads
  const rows = isPublished
    ? await store.rows<Record<string, unknown>>({
        sql: sql`SELECT *, toUInt32(bitAnd(version, 4294967295)) AS line FROM ${id(table)}
          ORDER BY version`,
      })
    : []
  const stored = rows.map(({ version, seconds, ...row }) => JSON.stringify(row))
  return { status: isPublished ? 'published' : decided.fault, rejects, stored, rows: decided.rows }
}

async function load(context: PipelineContext, name: string, text: string | Buffer) {
  return judge(context, await receiveFile(context, name, text))
}

const fileOf = (feed: FeedName, rows: readonly string[], end = '\n') => {
  const count = rows[0]?.split(',').length
  return [feeds[feed].columns.slice(0, count).join(','), ...rows].join(end)
}
const reads = (values: readonly string[]) =>
  values.map((value, at) => `A,S,M,3/4/2024 ${at}:00,${value}`)

/** Small files of every kind of last column; each is cut at every byte of its last row. */
const files: readonly { feed: FeedName; rows: readonly string[]; end?: string }[] = [
  { feed: 'Electric', rows: reads(['12.5', '0.106']) },
  { feed: 'Electric', rows: reads(['0.106', '12.5']) },
  { feed: 'Electric', rows: reads(['125', '.25']), end: '\r\n' },
  { feed: 'Electric', rows: reads(['7', '-125']) },
  { feed: 'Electric', rows: reads(['0.100', '12.375']) },
  { feed: 'Gas', rows: ['"A","S","M","3/4/2024","1.25"', '"A","S","M","3/5/2024","12.50"'] },
  {
    feed: 'BillingLines',
    rows: ['A,M,2024-03-01,1,Energy,Energy,10,0.1,12.50', 'A,M,2024-03-01,2,Tax,Tax,,,3.25'],
  },
  { feed: 'Terminations', rows: ['A,S,M,2024-03-01,moved', 'B,S,M,2024-03-02,"moved, ""away"""'] },
  { feed: 'PaymentPlans', rows: ['A,BudgetBilling,2024-03-01,,20,Active'] },
  {
    feed: 'Billing',
    rows: [
      'A,S,M,2024-02-01,2024-02-29,10,1,1,1,2024-01-01,D-17',
      'A,S,M,2024-03-01,2024-03-31,10,1,1,1,2024-01-01,D-18',
    ],
  },
  { feed: 'BillingCycles', rows: ['19,2026-01-21,2026-02-19', '19,2026-02-20,2026-03-20'] },
  { feed: 'Holidays', rows: ['2026-01-01,New Year', '2026-12-25,Christmas Day'] },
]

for (const { feed, rows, end = '\n' } of files) {
  t.test(`a ${feed} file cut at any byte never loads half a value (${rows.at(-1)})`, async (t) => {
    const whole = Buffer.from(fileOf(feed, rows, end) + end)
    // Files of other names would show that the sender never ends the last line.
    const name = nameOf(feed)
    const expected = await load(auto, name, whole)
    t.equal(expected.status, 'published')
    const from = whole.length - (rows.at(-1)?.length ?? 0) - end.length
    const start = Math.max(from, whole.length - sample({ short: end.length + 1, long: 1_000 }))
    for (let cut = start; cut < whole.length; cut++) {
      const found = await load(auto, name, whole.subarray(0, cut))
      const what = `${JSON.stringify(whole.toString('utf8', from, cut))}: ${found.status}`
      const extra = found.stored.filter((row) => !expected.stored.includes(row))
      t.same(extra, [], what)
    }
  })
}

const rowsOf = (feed: FeedName, ...values: readonly string[]) => fileOf(feed, reads(values))
const rejectsLast = {
  status: 'published',
  rejects: [{ line: 4, column: 'TotalUnit', code: 'MAYBE_CUT' }],
}
const acceptsAll = { status: 'published', rejects: [] }
/** Ends the habit that the tests before have shown. */
const endHabit = (feed: FeedName) => load(auto, nameOf(feed), `${rowsOf(feed, '1')}\n`)
const uneven = (feed: FeedName = 'Electric') => rowsOf(feed, '12.5', '0.10', '0.106')

t.test('files.lastLineEnd decides about a complete last row without a line end', async (t) => {
  await endHabit('Electric')
  t.match(await load(auto, nameOf('Electric'), uneven()), rejectsLast)
  t.match(await load(optional, nameOf('Electric'), uneven()), acceptsAll)
  const proved = `${rowsOf('Electric', '0.100', '0.250', '0.106')}`
  t.match(await load(auto, nameOf('Electric'), proved), acceptsAll)
  t.match(await load(required, nameOf('Electric'), proved), rejectsLast)
  t.match(await load(required, nameOf('Electric'), `${proved}\n`), acceptsAll)
  const { rows } = await load(auto, nameOf('Electric'), uneven())
  t.match(rows, { read: 3, rejected: 1 })
})

t.test('a row that shows that it is whole is loaded', async (t) => {
  await endHabit('Electric')
  const last = (row: string) => `${rowsOf('Electric', '12.5', '0.10')}\n${row}`
  t.match(await load(auto, nameOf('Electric'), last('A,S,M,3/4/2024 2:00,"0.106"')), acceptsAll)
  t.match(await load(auto, nameOf('Electric'), last('A,S,M,3/4/2024 2:00,0.106\r')), acceptsAll)
  const dates = fileOf('BillingCycles', ['19,2026-01-21,2026-02-19', '19,2026-02-20,2026-03-20'])
  t.match(await load(auto, nameOf('BillingCycles'), dates), acceptsAll)
  const amounts = ['12.50', '3.25'].map((amount, at) => `A,I,2024-03-01,,${at},Tax,Tax,${amount}`)
  t.match(await load(auto, nameOf('Invoices'), fileOf('Invoices', amounts)), acceptsAll)
})

t.test('a day in one line without a line end is rejected with all its reads', async (t) => {
  await endHabit('Electric')
  const hours = Array.from({ length: 24 }, (_, at) => `H${at}`)
  const columns = { meter: 'Meter', time: 'Day', values: { from: 'H0', count: 24 } }
  const format = { Electric: { name: 'csv', interval: 3_600, columns } }
  const wide = contextOf({ usage: { format, rejectedShareMax: 0.5 } })
  const dayOf = (day: string, meter: string) => `${day},${hours.map(() => '1.5').join()},${meter}`
  const [first, last] = [dayOf('2024-03-01', 'M1'), dayOf('2024-03-02', 'M55000001')]
  const text = [`Day,${hours.join()},Meter`, first, last].join('\n')
  const cut = await load(wide, nameOf('Electric'), text.slice(0, -1))
  t.equal(cut.stored.length, 24)
  t.ok(cut.stored.every((row) => row.includes('"M1"')))
  t.same([...new Set(cut.rejects.map(({ code }) => code))], ['MAYBE_CUT'])
  t.match(cut.rows, { read: 48, accepted: 24, rejected: 24 })
  const whole = await load(wide, nameOf('Electric'), `${text}\n`)
  t.match(whole.rows, { read: 48, rejected: 0 })
})

t.test('what shows that a file came whole lets its last row in', async (t) => {
  await endHabit('Electric')
  t.match(await load(auto, nameOf('Electric', '.csv.gz'), gzipSync(uneven())), acceptsAll)
  for (const wholeBy of ['done-file', 'digest', 'object', 'answer'] as const) {
    const state = await receiveFile(auto, nameOf('Electric'), uneven(), { wholeBy })
    t.match(await judge(auto, state), acceptsAll, wholeBy)
  }
})

t.test('five files of one source and feed without a last line end show a habit', async (t) => {
  await endHabit('Gas')
  const text = uneven('Gas').replaceAll(/ \d:00/g, '')
  const days = ['3/4/2024', '3/5/2024', '3/6/2024']
  const body = text
    .split('\n')
    .map((row, at) => row.replace('3/4/2024', days[at - 1] ?? ''))
    .join('\n')
  const name = nameOf('Gas')
  const codes = async (as: string, what = body) => (await load(auto, as, what)).rejects.length
  for (let again = 0; again < 6; again++)
    t.equal(await codes(name, `${body}${again}`), 1, 'one name')
  for (let other = 0; other < 4; other++) t.equal(await codes(nameOf('Gas')), 1)
  t.equal(await codes(nameOf('Gas')), 0, 'the sixth name is believed')
  t.equal((await load(auto, nameOf('Gas'), body.slice(0, -8))).status, 'TRUNCATED')
  t.equal(await codes(nameOf('Gas')), 1, 'a truncated file ends the habit')
})

t.test('every path leaves out a row that may be cut', async (t) => {
  await endHabit('Electric')
  for (const end of ['\n', '\r\n']) {
    const { judged } = await byEachPath(auto, nameOf('Electric'), uneven().replaceAll('\n', end))
    t.ok(judged.size > 2, [...judged.keys()].join())
    const [first, ...others] = judged.values()
    t.match(first?.rejects, [{ line: 4, code: 'MAYBE_CUT' }])
    t.match(first?.receipt, { rows: { read: 3, rejected: 1 }, quantity: { rejected: '0.106' } })
    for (const other of others) t.same(other, first)
  }
})

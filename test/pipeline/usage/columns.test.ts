import t, { type Test } from 'tap'
import { decide } from '../../../pipeline/steps/reconcile.js'
import { feeds } from '../../../schemas/feed.js'
import { balance } from '../../../schemas/receipt.js'
import { header } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'
import { byEachPath, createContextOf, receiveFile } from './each-path.js'

const line = await createLineByHand(t)
const context = createContextOf(line)({ usage: { rejectedShareMax: 1 } })

const good = 'A,S,M,3/4/2024 0:15,2'
const wrong = {
  'one empty column too many': 'A,S,M,3/4/2024 0:00,1,',
  'one empty column and a blank': 'A,S,M,3/4/2024 0:00,1, ',
  'one column of a control character': 'A,S,M,3/4/2024 0:00,1,\u0001',
  'two empty columns too many': 'A,S,M,3/4/2024 0:00,1,,',
  'one column too few': 'A,S,M,3/5/2024 0:00',
  'an empty quantity': 'A,S,M,3/5/2024 0:00,',
} as const

async function judgeAlike(t: Test, name: string, lines: readonly string[], end: string) {
  const { judged } = await byEachPath(context, name, [header, ...lines, ''].join(end))
  t.ok(judged.size > 1, [...judged.keys()].join())
  const [first, ...others] = judged.values()
  for (const other of others) t.same(other, first)
  return first?.receipt
}

for (const [at, [what, row]] of Object.entries(wrong).entries()) {
  t.test(`every path rejects a row with ${what}`, async (t) => {
    const receipt = await judgeAlike(t, `DEMO_05032024_Electric_${at}.csv`, [good, row], '\n')
    t.match(receipt, { rows: { read: 2, accepted: 1, rejected: 1 } })
  })
}

t.test('every path rejects all of them in a file with CR LF and quotes', async (t) => {
  const lines = [good, ...Object.values(wrong), '"A","S","M",3/4/2024 0:30,"3"']
  const receipt = await judgeAlike(t, 'DEMO_06032024_Electric_0.csv', lines, '\r\n')
  t.match(receipt, { rows: { read: 8, accepted: 2, rejected: 6 } })
})

const ignoring = createContextOf(line)({
  usage: { rejectedShareMax: 1 },
  files: { extraColumns: 'ignore' },
})
const extended = `${header},Source,`
const extendedRows = [
  'A,S,M,3/4/2024 0:00,1,x,',
  'A,S,M,3/4/2024 0:15,.5,,9',
  'A,S,M,3/4/2024 0:30, 3 ,7,8',
  'A,S,M,3/4/2024 0:45,1,x',
  'A,S,M,3/4/2024 0:45,5',
  'A,S,M,3/4/2024 0:45,1,x,y,z',
  'A,S,M,3/4/2024 0:45,1,x,y,',
  'A,S,M,soon,2.25,7,8',
  'A,S,M,3/4/2024 1:00,1e3,7,8',
]
const quotedRow = 'A,"S",M,3/4/2024 1:15,"4","x, y","8"'
const brokenRow = 'A,S,M,3/4/2024 1:30,4,"x,8'

t.test('no path sees an extra column end within quotes behind a blank', async (t) => {
  const rows = [good, '', '  '].map((row, at) => {
    return row === good ? `${row},x,y` : `A,S,M,3/4/2024 ${at}:00,1,${row}"x,y"`
  })
  const bytes = [extended, ...rows, ''].join('\n')
  const { judged } = await byEachPath(ignoring, 'DEMO_08032024_Electric.csv', bytes)
  for (const one of judged.values()) {
    t.match(one.receipt, { rows: { accepted: 1, rejected: 2 }, quantity: { read: '2' } })
  }
})

for (const [kind, rows] of Object.entries({
  plain: extendedRows.slice(0, 2),
  lines: extendedRows,
  quoted: [...extendedRows, quotedRow],
  unsplittable: [...extendedRows, quotedRow, brokenRow],
})) {
  for (const end of ['\n', '\r\n']) {
    t.test(
      `every path ignores extra columns alike (${kind}, ${JSON.stringify(end)})`,
      async (t) => {
        const name = `DEMO_07032024_Electric_${kind.length}${end.length}.csv`
        const bytes = [extended, ...rows, ''].join(end)
        const { judged, manifest } = await byEachPath(ignoring, name, bytes)
        t.match(manifest, { extraColumns: 2, chunks: [{ format: kind }] })
        const [first, ...others] = judged.values()
        for (const other of others) t.same(other, first)
        t.ok(first && balance(first.receipt))
        t.match(first?.receipt.notes?.[0], /^columns ignored \(files\.extraColumns\): "Source", "/)
        const isQuoted = rows.includes(quotedRow)
        const isBroken = rows.includes(brokenRow)
        if (kind === 'plain') return
        const lines = isQuoted ? [2, 3, 4, 11] : [2, 3, 4]
        t.same(
          first?.stored.map((row) => (row as { line: number }).line),
          lines,
        )
        t.match(first?.rejects, [
          { line: 5, code: 'TOO_FEW_COLUMNS', detail: 'expected 7 columns, found 6' },
          { line: 6, code: 'TOO_FEW_COLUMNS', detail: 'expected 7 columns, found 5' },
          { line: 7, code: 'TOO_MANY_COLUMNS', detail: 'expected 7 columns, found 8' },
          { line: 8, code: 'TOO_MANY_COLUMNS' },
          { line: 9, code: 'NOT_A_TIME' },
          { line: 10, code: 'NOT_A_NUMBER' },
          ...(isBroken ? [{ line: 12, code: 'BAD_QUOTES' }] : []),
        ])
        t.match(first?.receipt.quantity, { accepted: isQuoted ? '8.5' : '4.5' })
      },
    )
  }
}

t.test('extra columns are refused unless the profile ignores them', async (t) => {
  const bytes = [extended, ...extendedRows, ''].join('\n')
  const { fault, reason } = await receiveFile(context, 'DEMO_08032024_Electric.csv', bytes)
  t.equal(fault, 'HEADER')
  t.match(reason, /found AccountNumber,.*,Source,; .*files\.extraColumns: ignore/)
})

t.test('a column of the feed out of its place is not an extra one', async (t) => {
  const rates = 'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate,Component,DayType'
  for (const [feed, first] of Object.entries({
    RateTou: rates,
    Electric: `${header},metERid`,
  })) {
    const { fault } = await receiveFile(ignoring, `DEMO_08032024_${feed}.csv`, `${first}\n`)
    t.equal(fault, 'HEADER', first)
  }
})

t.test('record feeds ignore extra columns too', async (t) => {
  const columns = [...feeds.Invoices.columns, 'Note', 'By']
  const rows = ['A,I,2024-03-01,,1,Tax,Tax,12.5,a,b', '"A",I,2024-03-01,,2,Tax,Tax,7,"a,",b']
  for (const [at, more] of [
    [],
    ['A,I,2024-03-01,,3,Tax,Tax,7,a'],
    ['A,I,2024-03-01,,3,Tax,Tax,7'],
  ].entries()) {
    const bytes = [columns.join(','), ...rows, ...more, ''].join('\n')
    const state = await receiveFile(ignoring, `DEMO_08032024_Invoices_${at}.csv`, bytes)
    const [decided] = await decide(ignoring, [state])
    t.match(decided, {
      status: 'publishing',
      rows: { read: 2 + more.length, accepted: 2, rejected: more.length },
      quantity: { accepted: '19.5' },
      notes: { warnings: ['columns ignored (files.extraColumns): "Note", "By"'] },
    })
  }
})

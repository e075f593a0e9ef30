import t from 'tap'
import { pushedColumns, toPushedText } from '../../../schemas/gateway/pushed-rows.js'

const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
const csv = (text: string) => toPushedText({ feed: 'Electric', format: 'csv', text })
const ndjson = (text: string) => toPushedText({ feed: 'Gas', format: 'ndjson', text })
const value = { AccountNumber: 'A', ExternalSiteID: 'S', MeterID: 'M', TimeStamp: '3/4/2024' }
const json = (more: object) => JSON.stringify({ ...value, TotalUnit: 1.5, ...more })

t.test('rows become lines of a usage file, whatever their line ends', async (t) => {
  const text = 'A,S,M,3/4/2024,1.5\n'
  const more = { hasQuality: false, timestamps: 'slashDate' } as const
  t.same(csv(`\uFEFF${header}\r\nA,S,M,3/4/2024,1.5`), { rows: 1, text, ...more })
  t.same(csv(`${header.toLowerCase()}\n\nA,S,M,3/4/2024,1.5\n\n`), { rows: 1, text, ...more })
  t.same(ndjson(`${json({})}\r\n\n${json({ TotalUnit: '1.5' })}`), {
    rows: 2,
    text: text + text,
    ...more,
  })
  t.same(ndjson(json({ MeterID: 'M,"1' })), {
    rows: 1,
    text: 'A,S,"M,""1",3/4/2024,1.5\n',
    ...more,
  })
})

t.test('rows may have a quality, and all of a call have a column for it', async (t) => {
  const found = (text: string) => ({ rows: 2, text, hasQuality: true, timestamps: 'slashDate' })
  const [row, other] = ['A,S,M,3/4/2024,1.5', 'A,S,M,3/5/2024,1.5']
  const sent = `${header},quality\n${row}, estimated \n${other},\n`
  t.same(csv(sent), found(`${row},estimated\n${other},\n`))
  const rows = [json({ Quality: 'substituted' }), json({ TimeStamp: '3/5/2024' })]
  t.same(ndjson(rows.join('\n')), found(`${row},substituted\n${other},\n`))
  const none = 'is none of asSent, estimated, substituted'
  t.same(csv(`${header},Quality\n${row},asSent\n${row},E`), {
    problem: `line 3 has a Quality that ${none}`,
  })
  t.match(csv(`${header},Quality\n${row}`), { problem: /^line 2 has 5 columns, not 6/ })
  t.match(csv(`${header},Flag\n${row},E`), { problem: /and optionally Quality; send it/ })
  t.same(ndjson(json({ Quality: 'E' })), { problem: `line 1 has a Quality that ${none}` })
  t.match(ndjson(json({ quality: 'estimated' })), { problem: /^line 1 has no valid quality/ })
})

t.test('a JSON number is taken as the text that was sent', async (t) => {
  const row = (meter: string, quantity: string) =>
    ndjson(
      `{"ExternalSiteID":"7","MeterID":${meter},"TimeStamp":"3/4/2024","TotalUnit":${quantity}}`,
    )
  const quantities = ['0.10', '9007199254740993', '1234567890123456789', '1.0', '1e3', '-0']
  for (const quantity of quantities) {
    t.match(row('7', quantity), { text: `,7,7,3/4/2024,${quantity}\n` }, quantity)
  }
  t.match(row('9007199254740991', '1'), { text: ',7,9007199254740991,3/4/2024,1\n' })
  for (const meter of ['9007199254740993', '1.0', '1.5', '1e3', '1234567890123456789']) {
    t.match(row(meter, '1'), { problem: /^line 1 has no valid MeterID/ }, meter)
    t.match(row(`"${meter}"`, '1'), { text: `,7,${meter},3/4/2024,1\n` }, 'as a string')
  }
  t.match(row('"n\\"1:2\\\\"', '1'), { text: ',7,"n""1:2\\",3/4/2024,1\n' })
})

t.test('what could reach into the rows of another call is refused with its line', async (t) => {
  const cases: readonly (readonly [ReturnType<typeof csv>, RegExp])[] = [
    [csv(''), /first line is not the header AccountNumber,/],
    [csv('A,S,M,3/4/2024,1'), /first line is not the header/],
    [csv(header), /holds no row/],
    [csv(`${header}\nA,S,M,3/4/2024,1\nA,S,"M,3/4/2024,1`), /^line 3 has a quote; push .* NDJSON/],
    [csv(`${header}\nA,S,M,3/4/2024,1,2`), /^line 2 has 6 columns, not 5/],
    [csv(`${header}\nA,S,M\uFFFD,3/4/2024,1`), /not UTF-8/],
    [ndjson(''), /holds no row/],
    [ndjson('[1]'), /^line 1 has no valid JSON/],
    [ndjson(`${json({})}\n{"MeterID":`), /^line 2 has no valid JSON/],
    [ndjson('{}'), /^line 1 has no valid ExternalSiteID/],
    [ndjson('null'), /^line 1 has no valid JSON/],
    [ndjson(json({ TotalUnit: null })), /no valid TotalUnit/],
    [ndjson(json({ MeterID: { toString: 'M' } })), /no valid MeterID/],
    [ndjson(json({ MeterID: 'M\nA,S,M2,3/4/2024,9' })), /^line 1 has a line break in a value/],
    [ndjson(json({ MeterID: 'M\ud800' })), /^line 1 has no valid MeterID/],
    [ndjson(json({ AccountNumber: 'A\r' })), /^line 1 has a line break in a value/],
    [csv(`${header}\nA,S,M\0,3/4/2024,1`), /a value holds a NUL character; leave it out/],
    [ndjson(`${json({})}\n${json({ MeterID: 'M\0' })}`), /a value holds a NUL character/],
    [
      csv(`${header}\nA,S,M,3/4/2024,1\nA,S,M,2024-03-04,1`),
      /two formats, M\/D\/YYYY and YYYY-MM-DD/,
    ],
    [ndjson(`${json({})}\n${json({ TimeStamp: '2024-03-04' })}`), /calls of their own/],
  ]
  for (const [read, problem] of cases) t.match(read, { problem }, String(problem))
})

t.test('rows of a feed that is not named, is none, or is not of usage, are refused', async (t) => {
  t.same([...pushedColumns.keys()], ['Electric', 'Gas'])
  for (const feed of ['', 'Water', 'Billing', 'constructor', '__proto__', 'electric']) {
    const read = toPushedText({ feed, format: 'ndjson', text: json({}) })
    t.match(read, { problem: /header field Feed: Electric or Gas$/ }, feed)
  }
})

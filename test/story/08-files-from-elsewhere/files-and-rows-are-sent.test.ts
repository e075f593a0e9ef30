/**
 * # 8.2 Files and rows are sent
 *
 * What: Files are uploaded in parts and rows are pushed; both are durable before they are
 * acknowledged.
 * Why: A sender who got a 202 deletes his copy.
 * Try: Upload a file with the `curl` lines of infra/guides/send.md.
 */
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import t from 'tap'
import { passwordHash } from '../../api/rig.js'
import { createGatewayStory } from '../rig/gateway.js'
import { type Answered, createSending, digestOf, fileOf } from '../rig/sending.js'
import { header, until } from '../rig/stack.js'

const gateway = await createGatewayStory(t, {
  profile: {
    intake: {
      users: [...['platform', 'mdm'].map((name) => ({ name, passwordHash }))],
      gatherSeconds: 1,
    },
  },
})

const { story } = gateway
const { call, put, push, ended, receiptAt } = createSending(gateway)

t.test('a file that is sent is loaded, and the answer says where its receipt is', async (t) => {
  const answer = await put('DEMO_05032024_Electric.csv', fileOf(4))
  t.match(answer, { status: 202, headers: { location: /^\/v1\/files\/\d+$/ } })
  const { arrival, fileId } = JSON.parse(answer.text)
  t.equal(fileId, createHash('sha256').update(fileOf(4)).digest('hex'))
  const receipt = await ended(answer.headers['location'])
  t.match(receipt, { status: 'published', fileId, rows: { read: 3, accepted: 3 } })
  t.ok(readdirSync(story.home.archive).includes(`${arrival}-DEMO_05032024_Electric.csv`))
  const again = await put('DEMO_05032024_Electric.csv', fileOf(4))
  t.equal(again.headers['location'], answer.headers['location'], 'sent again it is the same')
})

t.test('a file whose sending was cut off goes on where it was', async (t) => {
  const [name, text] = ['DEMO_06032024_Electric.csv', fileOf(5, 40_000)]
  await t.rejects(put(name, text, { cutAfter: 700_000 }))
  const ask = () =>
    put(name, text, { body: '', headers: { 'content-range': `bytes */${text.length}` } })
  let offset = 0
  await until(async () => {
    const asked = await ask()
    const before = offset
    offset = Number(asked.headers['upload-offset'])
    // What came before the cut may still be on its way to the disk.
    return asked.status === 409 && offset > 0 && offset === before
  })
  t.ok(offset < text.length)
  const from = (at: number) =>
    put(name, text, {
      body: text.slice(at),
      headers: { 'content-range': `bytes ${at}-${text.length - 1}/${text.length}` },
    })
  t.match(await from(1), { status: 409, headers: { 'upload-offset': String(offset) } })
  const answer = await from(offset)
  t.equal(answer.status, 202)
  t.match(await ended(answer.headers['location']), { status: 'published', rows: { read: 40_000 } })
})

t.test('what is not what it says is refused, with the remedy', async (t) => {
  const name = 'DEMO_07032024_Electric.csv'
  const wrong = (answer: Answered, detail: RegExp) =>
    t.match(answer, { status: 400, text: detail }, String(detail))
  const other = { 'repr-digest': digestOf('other') }
  wrong(await put(name, fileOf(6), { headers: other }), /do not match Repr-Digest/)
  wrong(await put(name, fileOf(6), { headers: { 'repr-digest': '' } }), /Repr-Digest: sha-256/)
  wrong(await put('passwords.txt', 'x'), /<CompanyCode>/)
  wrong(await put('ACME_07032024_Electric.csv', fileOf(6)), /not in companyCodes/)
  const authorization = 'Basic eDp5'
  t.match(await put(name, fileOf(6), { headers: { authorization } }), { status: 401 })
  wrong(await put('..%2f..%2fpasswords', 'x'), /<CompanyCode>/)
  const text = fileOf(6)
  const last = text.length - 1
  for (const range of [
    'bytes 0-9/5',
    `bytes 0-${last - 1}/${last + 1}`,
    `bytes 0-${last}/*`,
    `bytes -${last}/${last + 1}`,
    'rows 0-1/2',
    `bytes 0-${last}/${'9'.repeat(16)}`,
  ]) {
    wrong(
      await put(name, text, { headers: { 'content-range': range } }),
      /send Content-Length, and Content-Range/,
    )
  }
  const longer = { body: `${text}x`, headers: { 'content-range': `bytes 0-${last}/${last + 1}` } }
  wrong(await put(name, text, longer), /do not match Repr-Digest/)
  for (const of of [
    '999',
    '9'.repeat(30),
    '1e0',
    '..%2f',
    '%00',
    'a.csv',
    `${'a'.repeat(99)}.csv`,
  ]) {
    t.match(await call(`files/${of}`, { method: 'GET' }), { status: 404 }, of)
  }
  t.match(await call(`files/${name}`, { method: 'DELETE' }), { status: 405 })
  t.same(readdirSync(story.home.uploads), [], 'and nothing of it is kept')
})

const rowOf = (MeterID: string, TimeStamp: string) =>
  `${JSON.stringify({ AccountNumber: 'A', ExternalSiteID: 'S', MeterID, TimeStamp, TotalUnit: 2 })}\n`
const pushed = (meter: number) => rowOf(`P${meter}`, '3/8/2024 0:00')

t.test('pushed rows are gathered into files, and are durable when acknowledged', async (t) => {
  const calls = Array.from({ length: 60 }, (_, at) => push(pushed(at)))
  const csv = { 'content-type': 'text/csv; charset=utf-8' }
  calls.push(push(`${header}\r\nA,P60,P60,3/8/2024 0:00,2\r\n`, csv))
  const answers = await Promise.all(calls)
  t.ok(answers.every(({ status }) => status === 202))
  const files = new Set(answers.map(({ headers }) => headers['location']))
  t.ok(files.size <= 5, `61 calls make ${files.size} files`)
  let accepted = 0
  for (const file of files) accepted += (await ended(file)).rows.accepted
  t.equal(accepted, 61)
  const [found] = await story.reader.rows<{ rows: string }>({
    sql: "SELECT count() AS rows FROM usage WHERE meter_id LIKE 'P%' AND quantity = 2",
  })
  t.equal(Number(found?.rows), 61)
})

t.test('senders with different formats, and bad rows of one, do not harm the other', async (t) => {
  const authorization = `Basic ${Buffer.from('mdm:a password').toString('base64')}`
  const rows = (make: (at: number) => string) => Array.from({ length: 12 }, (_, at) => make(at))
  const csv = { 'content-type': 'text/csv' }
  const send = (lines: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    push(`${[header, ...lines].join('\n')}\n`, { ...csv, ...more })
  const answers = await Promise.all([
    send(rows((at) => `A,S,TWO${at},3/8/2024 0:00,1`)),
    send(
      rows((at) => `A,S,TWO${at},2024-03-08 01:00,2`),
      { authorization },
    ),
    send(
      rows((at) => `A,S,TWO${at},3/8/2024 2:00,n/a`),
      { authorization },
    ),
  ])
  const receipts = await Promise.all(
    answers.map(({ headers }, at) => ended(headers['location'], at > 0 && { authorization })),
  )
  t.match(receipts, [
    { status: 'published', rows: { read: 12, accepted: 12 } },
    { status: 'published', rows: { read: 12, accepted: 12 } },
    { status: 'quarantined', rows: { rejected: 12 } },
  ])
})

t.test('pushed one by one, corrections replace what they correct', async (t) => {
  const at = (slot: number) => `${Math.floor(slot / 4)}:${String((slot % 4) * 15).padStart(2, '0')}`
  const day = Array.from({ length: 96 }, (_, slot) => `A,S,Q,3/9/2024 ${at(slot)},1`)
  const sent = await put('DEMO_10032024_Electric.csv', `${[header, ...day].join('\n')}\n`)
  t.match(await ended(sent.headers['location']), { status: 'published', rows: { accepted: 96 } })
  const days = [1, 4, 7].map((date) => `A,S,G,3/${date}/2024,10`)
  const gas = await put('DEMO_08032024_Gas.csv', `${[header, ...days].join('\n')}\n`)
  t.match(await ended(gas.headers['location']), { status: 'published', rows: { accepted: 3 } })
  const slots = [2, 6, 30, 32]
  const answers = [
    ...(await Promise.all(slots.map((slot) => push(rowOf('Q', `3/9/2024 ${at(slot)}`))))),
    await push(rowOf('G', '3/4/2024'), { feed: 'Gas' }),
  ]
  const files = [...new Set(answers.map(({ headers }) => headers['location']))]
  const receipts = await Promise.all(files.map((at) => ended(at)))
  const counts = receipts.map(({ rows, restated }) => [rows.accepted, restated.rows])
  t.same(
    counts.reduce(([a, b], [rows, restated]) => [a + rows, b + restated]),
    [5, 5],
  )
  const stored = await story.reader.rows({
    sql: `SELECT meter_id, seconds, toUInt32(count()) AS rows, toString(sum(quantity)) AS sum
      FROM usage WHERE meter_id IN ('Q', 'G') GROUP BY meter_id, seconds ORDER BY meter_id`,
  })
  t.same(stored, [
    { meter_id: 'G', seconds: 86_400, rows: 3, sum: '22' },
    { meter_id: 'Q', seconds: 900, rows: 96, sum: '100' },
  ])
})

t.test('a pushed estimate gives way to a pushed read, whichever comes first', async (t) => {
  const row = { ExternalSiteID: 'S', MeterID: 'E', TotalUnit: 1 }
  const line = (hour: number, more: object) =>
    `${JSON.stringify({ ...row, AccountNumber: 'A', TimeStamp: `3/9/2024 ${hour}:00`, ...more })}\n`
  const estimate = { TotalUnit: 7, Quality: 'estimated' }
  for (const text of [line(1, estimate) + line(2, {}), line(1, {}) + line(2, estimate)]) {
    const { headers } = await push(text)
    t.match(await ended(headers['location']), { status: 'published', rows: { rejected: 0 } })
  }
  const stored = await story.reader.rows({
    sql: `SELECT toString(quantity) AS quantity, quality FROM usage WHERE meter_id = 'E'`,
  })
  t.same(
    stored,
    [1, 2].map(() => ({ quantity: '1', quality: 'asSent' })),
  )
})

/** A row of the night of 2 November 2025, as text: identifiers and quantities that a number may not hold. */
const nightRow = (time: string, at: number, meter = '"9007199254740993"') =>
  `{"AccountNumber":"1.0","ExternalSiteID":9007199254740991,"MeterID":${meter},"TimeStamp":"11/2/2025 ${time}","TotalUnit":${at}.10}\n`

t.test('row by row through the repeated hour, each keeps its hour and its text', async (t) => {
  const rounded = await push(nightRow('0:00', 0, '9007199254740993'))
  t.match(rounded, { status: 400, text: /line 1 has no valid MeterID/ }, 'a number may be rounded')
  const quarters = ['00', '15', '30', '45']
  const rows = [0, 1, 1, 2]
    .flatMap((hour) => quarters.map((minute) => `${hour}:${minute}`))
    .map((time, at) => nightRow(time, at))
  // Within each pass of the hour a file ends and another begins.
  for (const some of [rows.slice(0, 6), rows.slice(6, 10), rows.slice(10)]) {
    const files = new Set<unknown>()
    for (const row of some) files.add((await push(row)).headers['location'])
    for (const file of files) t.match(await ended(file), { rows: { rejected: 0 } })
  }
  const stored = await story.reader.rows({
    sql: `SELECT formatDateTime(starts_at, '%H:%i') AS at, toString(quantity) AS quantity,
        account_number AS account, external_site_id AS site
      FROM usage WHERE meter_id = '9007199254740993' ORDER BY starts_at`,
  })
  const times = ['04', '05', '06', '07'].flatMap((hour) => quarters.map((at) => `${hour}:${at}`))
  const shared = { account: '1.0', site: '9007199254740991' }
  const expected = times.map((time, at) => ({ at: time, quantity: `${at}.1`, ...shared }))
  t.same(stored, expected, 'in UTC, with both passes of the hour')
})

t.test('rows that could harm those of others are refused', async (t) => {
  const csv = { 'content-type': 'text/csv' }
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
    [pushed(1), { feed: '' }, /field Feed: Electric/],
    [pushed(1), { 'content-type': 'application/json' }, /send as text\/csv or/],
    [pushed(1), { 'content-type': 'constructor' }, /send as text\/csv or/],
    ['{"MeterID":1}\n', {}, /line 1 has no valid ExternalSiteID/],
    ['\n', {}, /holds no row/],
    ['a,b\n1,2\n', csv, /not the header AccountNumber/],
    [`${header}\nA,"S,M,3/8/2024 0:00,2\n`, csv, /line 2 has a quote/],
    [`${header}\nA,S,M,3/8/2024 0:00\n`, csv, /line 2 has 4 columns, not 5/],
    [[0, 1, 2].map((at) => rowOf('M', `11/5/2023 ${at}:00`)).join(''), {}, /AMBIGUOUS_TIME/],
  ]
  for (const [body, more, detail] of cases) {
    t.match(await push(body, more), { status: 400, text: detail }, String(detail))
  }
  const broken = Buffer.concat([Buffer.from(`${header}\nA,S,M`), Buffer.from([0xe4, 0xff])])
  const headers = { ...csv, feed: 'Gas' }
  const answer = await call('usage', { method: 'POST', body: broken, headers })
  t.match(answer, { status: 400, text: /not UTF-8/ })
})

t.test('a push has 4 MB at most, and says what to do with more', async (t) => {
  const day = (meter: string) =>
    Array.from({ length: 24 }, (_, hour) => rowOf(meter, `3/8/2024 ${hour}:00`)).join('')
  const rows = Array.from({ length: 10 }, (_, at) => day(`LONG${at}`)).join('')
  const full = rows.padEnd(4 * 1_024 * 1_024, '\n')
  const answer = await push(full)
  t.match(answer, { status: 202 }, 'at the limit')
  t.match(await ended(answer.headers['location']), { rows: { accepted: 240 } })
  const refusal = { status: 413, text: /longer than 4 MB.*push fewer rows.*upload/ }
  t.match(await push(`${full}\n`), refusal, 'a byte above it')
  const chunked = { 'transfer-encoding': 'chunked' }
  t.match(await push(`${full}\n`, chunked), refusal, 'not announced')
  const authorization = 'Basic YTpi'
  t.match(await push(rows, { authorization }), { status: 401 }, 'nobody else may send as much')
})

t.test('a process that dies gathering loses no row that was answered', async (t) => {
  const answer = await push(pushed(70))
  story.stack.gateway?.kill()
  t.match(await endedLater(answer.headers['location']), {
    status: 'published',
    rows: { read: 1, accepted: 1 },
  })
})

/** The gateway is started again meanwhile. */
async function endedLater(location: unknown): Promise<unknown> {
  let receipt: object = {}
  await until(async () => {
    receipt = await receiptAt(location).catch(() => ({}))
    return 'rows' in receipt
  })
  return receipt
}

t.test('no row is in the logs', async (t) => {
  t.notMatch(story.logs(), /3\/\d\/2024|correct|a password/)
})

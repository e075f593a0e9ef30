/**
 * # 3.3 Bad files
 *
 * What: Files that are not usage files, archives that expand without end, files that are cut
 * off.
 * Why: A sender's mistake must end with a reason and a remedy, and must not harm other files.
 * Try: Rename a picture to `DEMO_05032024_Electric.csv.gz` and load it.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { balance } from '../../../schemas/receipt.js'
import { follow, header, openStory, readIfThere, until } from '../rig/stack.js'

const story = await openStory(t, { limits: { fileBytesMax: '150 MB' } })

/** Values of rows here that no log may contain. */
const canary = { account: '77310055221', quantity: '31.415926' }
const rowOf = (meter: string | number, quantity = canary.quantity) =>
  `${canary.account},S-1,${meter},3/4/2024 0:00,${quantity}`
const whole = `${header}\n${rowOf('M-1')}\n${rowOf('M-2')}\n`
const packed = gzipSync(Buffer.from(whole))

let sent = 0
const nameOf = (ending = '.csv') => `DEMO_05032024_Electric_${++sent}${ending}`

/** Hands all files over at once, so that one bad file could hold up the others. */
async function loadAll(files: readonly { name: string; bytes: string | Buffer }[]) {
  const arrivals: number[] = []
  for (const { name, bytes } of files) {
    await writeFile(join(story.desk, name), bytes)
    arrivals.push((await story.submission.submit(join(story.desk, name))).arrival)
  }
  const receipts = []
  for (const arrival of arrivals) receipts.push(await follow(story.submission, arrival))
  return receipts
}

const refused: readonly (readonly [string, string, string | Buffer, RegExp])[] = [
  [
    'no CSV at all',
    '.csv',
    Buffer.from('%PDF-1.7\n%âãÏÓ\n1 0 obj'),
    /^HEADER: expected .*found %PDF/,
  ],
  ['a picture', '.csv', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), /^HEADER: .*\?PNG/],
  ['one line without end', '.csv', 'x'.repeat(300_000), /^HEADER: expected .*characters\)/],
  [
    'a foreign header',
    '.csv',
    `Account,Site,Meter,Time,kWh\n${rowOf(1)}\n`,
    /^HEADER: .*found Account/,
  ],
  ['columns in another order', '.csv', `${header.split(',').reverse()}\n1\n`, /^HEADER: /],
  ['a column too many', '.csv', `${header},Extra\n1,2,3,4,5,6\n`, /^HEADER: .*Extra/],
  [
    'UTF-16',
    '.csv',
    Buffer.from(`\ufeff${whole}`, 'utf16le'),
    /^ENCODING: .*UTF-16; export it as UTF-8/,
  ],
  [
    'UTF-16 the other way round',
    '.csv',
    Buffer.from(`\ufeff${whole}`, 'utf16le').swap16(),
    /^ENCODING: .*UTF-16/,
  ],
  ['UTF-16 without its mark', '.csv', Buffer.from(whole, 'utf16le'), /^ENCODING: .*UTF-16/],
  ['no bytes', '.csv', '', /^EMPTY_FILE: the file is empty/],
  ['a header alone', '.csv', header, /^NO_ROWS: the file has a header and no rows/],
  ['a header and blank lines', '.csv', `${header}\n\n\r\n\n`, /^NO_ROWS: /],
  ['a row cut in the middle', '.csv', whole.slice(0, -25), /^TRUNCATED: the last row is truncated/],
  ['a cut inside quotes', '.csv', `${whole}1,"S,M,3/4/2024 0:00,1`, /^TRUNCATED: /],
  [
    'a gzip cut short',
    '.csv.gz',
    packed.subarray(0, -12),
    /^ARCHIVE: the gzip is broken or truncated/,
  ],
  ['a gzip of no bytes', '.csv.gz', '', /^(ARCHIVE|EMPTY_FILE): /],
  ['no gzip', '.csv.gz', whole, /^ARCHIVE: the gzip is broken/],
  [
    'rubbish behind a gzip',
    '.csv.gz',
    Buffer.concat([packed, Buffer.from('rubbish')]),
    /^ARCHIVE: /,
  ],
  [
    'noughts behind a gzip',
    '.csv.gz',
    Buffer.concat([packed, Buffer.alloc(512)]),
    /^ARCHIVE: 512 /,
  ],
  ['a zip cut short', '.zip', Buffer.from('PK\u0003\u0004'), /^ARCHIVE: the zip is refused/],
  ['a NUL byte', '.csv', `${whole}1,S,M\0,3/4/2024 0:00,1\n`, /^ENCODING: NUL byte after line/],
  [
    'Latin-1',
    '.csv',
    Buffer.from(`${whole}1,Süd,M,3/4/2024 0:00,1\n`, 'latin1'),
    /^ENCODING: .*not UTF-8/,
  ],
  [
    'a line without end, many MB',
    '.csv',
    `${whole}${'y'.repeat(5_000_000)}`,
    /^ROW_LENGTH: line 4 /,
  ],
]

t.test('a file that is not a usage file is quarantined with a reason', async (t) => {
  const files = refused.map(([what, ending, bytes]) => ({ what, name: nameOf(ending), bytes }))
  const receipts = await loadAll(files)
  for (const [index, receipt] of receipts.entries()) {
    const [what, , , reason] = refused[index] as (typeof refused)[number]
    t.equal(receipt.status, 'quarantined', what)
    t.match(receipt.reason, reason, `${what} says why`)
    t.equal(receipt.publishedAt, null)
    const written = readIfThere(story.outbox(`${files[index]?.name}.receipt.json`))
    t.equal(JSON.parse(written ?? '{}').reason, receipt.reason, `${what} has a receipt`)
  }
  t.same(await story.reader.rows({ sql: 'SELECT * FROM usage' }), [], 'no row is visible')
})

t.test('a bomb ends soon, whether it grows too much or is too large', async (t) => {
  const noughts = Buffer.alloc(50_000_000, '0')
  const bomb = gzipSync(Buffer.concat([Buffer.from(whole), ...Array(5).fill(noughts)]))
  const grows = await story.loadBytes(nameOf('.csv.gz'), gzipSync(bomb, { level: 0 }))
  t.match(grows.reason, /^HEADER: /, 'a packed gzip is not CSV')
  const [rows] = await loadAll([{ name: nameOf('.csv.gz'), bytes: bombOfRows() }])
  t.match(rows?.reason, /^RATIO: unpacks to more than 200 times its size/)
  const [large] = await loadAll([{ name: nameOf('.csv'), bytes: Buffer.alloc(160_000_000, 'x') }])
  t.match(large?.reason, /^FILE_TOO_LARGE: 160000000 bytes, limits\.fileBytesMax is 157286400/)
})

/** 120 MB of one row in some 350 KB. */
function bombOfRows(): Buffer {
  const block = `${rowOf('M-1')}\n`.repeat(30_000)
  return gzipSync(
    Buffer.concat([Buffer.from(`${header}\n`), ...Array(85).fill(Buffer.from(block))]),
  )
}

t.test(
  'CRLF, BOM and blank lines are read as meant; a last row that may be cut is rejected',
  async (t) => {
    const rows = [rowOf('C-1'), '', rowOf('C-2')]
    const name = 'DEMO_05032024_Electric_900.csv'
    const receipt = await story.loadBytes(
      name,
      `\ufeff${header.toLowerCase()}\r\n${rows.join('\r\n')}`,
    )
    t.match(receipt, { status: 'published', rows: { read: 2, accepted: 1, rejected: 1 } })
    t.match(receipt.notes, [
      /^meters with a provisional interval length: 1;/,
      'the last row has no line end',
      /^published without 1 of 2 rows/,
    ])
    t.ok(balance(receipt))
  },
)

t.test('a line of 1 MB is rejected where it fits a chunk, and costs no other row', async (t) => {
  const long = `${canary.account},${'z'.repeat(1_000_000)},M,3/4/2024 0:00,5`
  const text = `${header}\n${rowOf('L-1')}\n${long}\n${rowOf('L-2')}\n`
  const receipt = await story.loadBytes(nameOf(), text)
  t.match(receipt, {
    status: 'published',
    rows: { read: 3, accepted: 2, rejected: 1 },
    quantity: { rejected: '5' },
  })
  const [reject] = await story.reader.rows({
    sql: `SELECT line, code, length(raw) AS shown FROM rejected_row
      WHERE file_name = {name:String}`,
    parameters: { name: receipt.fileName },
  })
  t.match(reject, { line: 3, code: 'ROW_TOO_LONG', shown: '1000' })
})

t.test('a file cut in the inbox waits, and heals when the whole file comes', async (t) => {
  const name = 'DEMO_06032024_Electric.csv'
  await story.send(name, whole.slice(0, -25))
  const statuses = async () =>
    (
      await story.reader.rows<{ status: string }>({
        sql: `SELECT status FROM file_arrival WHERE file_name = {name:String} ORDER BY arrival`,
        parameters: { name },
      })
    ).map((row) => row.status)
  await until(async () => (await statuses())[0] === 'waiting')
  t.equal(readIfThere(story.outbox(`${name}.receipt.json`)), undefined, 'nothing is decided')
  await writeFile(join(story.home.inbox, name), whole)
  const receipt = await story.receiptOf(name)
  t.match(receipt, { status: 'published', rows: { read: 2 } })
  t.same(await statuses(), ['replaced', 'published'])
})

t.test('columns behind those of the feed are ignored if the profile says so', async (t) => {
  const wide = (rows: readonly string[]) => `${header},Note,Route\n${rows.join('\n')}\n`
  const row = rowOf('WIDE')
  const refused = await story.loadBytes(nameOf(), wide([`${row},,`]))
  t.match(refused.reason, /^HEADER: .*leave out the others, or set files\.extraColumns: ignore$/)
  await story.restart({ files: { extraColumns: 'ignore' } })
  const rows = [`${row},"a, b",7`, `${rowOf('WIDE-2')},,`, `${rowOf('WIDE-3')},x`]
  const receipt = await story.loadBytes(nameOf(), wide(rows))
  t.match(receipt, { status: 'published', rows: { read: 3, accepted: 2, rejected: 1 } })
  t.match(
    receipt.notes?.join('\n'),
    /^columns ignored .*"Note", "Route"$/m,
    'the receipt names them',
  )
  const stored = await story.reader.rows({
    sql: `SELECT meter_id AS meter, toFloat64(quantity) AS quantity FROM usage
      WHERE startsWith(meter_id, 'WIDE') ORDER BY meter`,
  })
  const quantity = Number(canary.quantity)
  t.same(stored, [
    { meter: 'WIDE', quantity },
    { meter: 'WIDE-2', quantity },
  ])
})

t.test('no log contains a row of a bad file', async (t) => {
  t.match(story.logs(), /"code":|"job":"settle"/)
  t.notMatch(story.logs(), new RegExp(`${canary.account}|${canary.quantity}|S-1,`))
})

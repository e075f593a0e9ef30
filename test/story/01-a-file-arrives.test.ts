/**
 * # 1. A file arrives
 *
 * What: A usage file is put into the inbox, is loaded, and every row is accounted for.
 * Why: This is the whole path of a file: poll, receive, load, reconcile, publish, settle.
 * Everything else varies it.
 * Try: Run `npm start`, copy a file into `data/inbox`, and read its receipt in `data/outbox`.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { balance } from '../../schemas/receipt.js'
import { header, openStory, until } from './rig/stack.js'

const story = await openStory(t)

const rows = (day: number) => [
  `910020000001,5113000001,E-1,3/${day}/2024 0:00,1.25`,
  `910020000001,5113000001,E-1,3/${day}/2024 0:15,0.5`,
  `910020000002,5113000002,E-2,3/${day}/2024 0:00,-0.125`,
  `910020000002,5113000002,E-2,3/${day}/2024 0:15,2`,
  `910020000003,,E-3,3/${day}/2024 0:00,4`,
  `910020000003,5113000003,E-3,3/${day}/2024 0:00,n/a`,
]
const fileOf = (day: number) => `${[header, ...rows(day)].join('\n')}\n`
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')

t.test('a file in the inbox is left alone until it has its name, then loads', async (t) => {
  const name = 'DEMO_05032024_Electric.csv'
  const part = join(story.home.inbox, `${name}.part`)
  const text = fileOf(4)
  await writeFile(part, text.slice(0, 100))
  await sleep(2_500)
  await appendFile(part, text.slice(100))
  const arrivals = await story.reader.rows({ sql: 'SELECT * FROM file_arrival' })
  t.same(arrivals, [], 'nothing has arrived yet')
  renameSync(part, join(story.home.inbox, name))

  const receipt = await story.receiptOf(name)
  t.match(receipt, {
    fileName: name,
    fileId: sha256(text),
    feed: 'Electric',
    status: 'published',
    rows: { read: 6, accepted: 4, duplicate: 0, superseded: 0, rejected: 2, unregistered: 0 },
    quantity: {
      read: '7.625',
      accepted: '3.625',
      duplicate: '0',
      superseded: '0',
      rejected: '4',
      unregistered: '0',
    },
    restated: { rows: 0, netQuantity: '0' },
    meters: 2,
    firstIntervalStart: '2024-03-04T05:00:00.000Z',
    lastIntervalEnd: '2024-03-04T05:30:00.000Z',
  })
  t.equal(receipt.reason, null)
  t.ok(balance(receipt), 'every row and all energy is found in one of the outcomes')
  t.ok(receipt.publishedAt && receipt.publishedAt >= receipt.receivedAt)
})

t.test('its rejects file says line, column, code and reason, and shows the row', async (t) => {
  const rejects = readFileSync(story.outbox('DEMO_05032024_Electric.csv.rejects.csv'), 'utf8')
  t.equal(
    rejects,
    [
      '"Line","Column","Code","Detail","Row"',
      `6,"ExternalSiteID","EMPTY","value is missing","${rows(4)[4]}"`,
      `7,"TotalUnit","NOT_A_NUMBER","not a plain decimal number","${rows(4)[5]}"`,
      '',
    ].join('\n'),
  )
})

t.test('the file goes to the archive under the number of its arrival', async (t) => {
  await until(() => readdirSync(story.home.archive).length === 1)
  const [archived = ''] = readdirSync(story.home.archive)
  t.equal(archived, '1-DEMO_05032024_Electric.csv')
  t.equal(readFileSync(join(story.home.archive, archived), 'utf8'), fileOf(4))
  t.same(readdirSync(story.home.inbox), [], 'the inbox is empty')
  t.same(
    readdirSync(story.home.outbox).filter((name) => !/\.(receipt\.json|rejects\.csv)$/.test(name)),
    ['arrivals'],
    'the outbox holds nothing unfinished',
  )
  for (const end of ['receipt.json', 'rejects.csv']) {
    t.equal(
      readFileSync(story.outbox(`arrivals/1-DEMO_05032024_Electric.csv.${end}`), 'utf8'),
      readFileSync(story.outbox(`DEMO_05032024_Electric.csv.${end}`), 'utf8'),
      'and keeps both under the number too',
    )
  }
})

t.test('a data engineer finds the reads in usage', async (t) => {
  const found = await story.reader.rows({
    sql: `SELECT meter_id, commodity, toString(starts_at) AS starts_at, seconds, local_day,
        local_hour, toString(quantity) AS quantity, unit, account_number, external_site_id,
        file_id, toString(version - bitShiftLeft(toUInt64(1), 32)) AS line,
        published_at > '2020-01-01' AS is_published
      FROM usage ORDER BY meter_id, starts_at`,
  })
  const shared = {
    commodity: 'Electric',
    seconds: 900,
    local_day: '2024-03-04',
    local_hour: 0,
    unit: 'kWh',
    file_id: sha256(fileOf(4)),
    is_published: 1,
  }
  const first = { meter_id: 'E-1', account_number: '910020000001', external_site_id: '5113000001' }
  const second = { meter_id: 'E-2', account_number: '910020000002', external_site_id: '5113000002' }
  const [early, late] = ['2024-03-04 05:00:00', '2024-03-04 05:15:00']
  t.same(found, [
    { ...shared, ...first, starts_at: early, quantity: '1.25', line: '2' },
    { ...shared, ...first, starts_at: late, quantity: '0.5', line: '3' },
    { ...shared, ...second, starts_at: early, quantity: '-0.125', line: '4' },
    { ...shared, ...second, starts_at: late, quantity: '2', line: '5' },
  ])
})

t.test('and the days, with their gaps, in usage_day', async (t) => {
  const days = await story.reader.rows({
    sql: `SELECT meter_id, local_day, seconds, unit, toString(quantity) AS quantity,
        intervals_expected, intervals_present FROM usage_day ORDER BY meter_id`,
  })
  const shared = { local_day: '2024-03-04', seconds: 900, unit: 'kWh' }
  const counts = { intervals_expected: 96, intervals_present: 2 }
  t.same(days, [
    { meter_id: 'E-1', ...shared, quantity: '1.75', ...counts },
    { meter_id: 'E-2', ...shared, quantity: '1.875', ...counts },
  ])
})

t.test('file_load, file_arrival and rejected_row show what became of the file', async (t) => {
  const [load] = await story.reader.rows<Record<string, unknown>>({
    sql: `SELECT * EXCEPT (bytes), toString(quantity_read) AS quantity FROM file_load`,
  })
  t.match(load, {
    arrival: 1,
    file_name: 'DEMO_05032024_Electric.csv',
    source: 'inbox',
    company_code: 'DEMO',
    file_date: '2024-03-05',
    feed: 'Electric',
    status: 'published',
    fault: '',
    quantity: '7.625',
    meters: '2',
  })
  const arrivals = await story.reader.rows({
    sql: 'SELECT arrival, file_name, status, duplicate_of FROM file_arrival',
  })
  const name = 'DEMO_05032024_Electric.csv'
  t.same(arrivals, [{ arrival: 1, file_name: name, status: 'published', duplicate_of: 0 }])
  const rejected = await story.reader.rows({
    sql: `SELECT line, column_name, code, raw, published_at IS NOT NULL AS is_published
      FROM rejected_row ORDER BY line`,
  })
  t.same(rejected, [
    { line: 6, column_name: 'ExternalSiteID', code: 'EMPTY', raw: rows(4)[4], is_published: 1 },
    { line: 7, column_name: 'TotalUnit', code: 'NOT_A_NUMBER', raw: rows(4)[5], is_published: 1 },
  ])
})

t.test('every table and column that they meet has a comment', async (t) => {
  const bare = await story.reader.rows<{ name: string }>({
    sql: `SELECT concat(table, '.', name) AS name FROM system.columns
      WHERE database = 'story' AND comment = '' AND NOT match(table, '^(staging_|usage_current)')
      UNION ALL
      SELECT name FROM system.tables
      WHERE database = 'story' AND comment = '' AND NOT startsWith(name, 'staging_')`,
  })
  t.same(
    bare.map((one) => one.name).filter((name) => !name.includes('migration')),
    [],
  )
})

t.test('a reader cannot write', async (t) => {
  await t.rejects(story.reader.command({ sql: 'ALTER TABLE usage_read DELETE WHERE 1' }))
  await t.rejects(story.reader.insert('arrival', [{ arrival: 9 }]))
})

t.test('a file that a person hands over loads at once and stays where it lies', async (t) => {
  const receipt = await story.loadBytes('DEMO_06032024_Electric.csv', fileOf(5))
  t.match(receipt, { status: 'published', rows: { read: 6, accepted: 4, rejected: 2 } })
  t.ok(balance(receipt))
  t.same(await story.receiptOf('DEMO_06032024_Electric.csv'), receipt, 'the outbox has it too')
  t.ok(existsSync(join(story.desk, 'DEMO_06032024_Electric.csv')))
})

t.test('a packed file loads the same way, from the inbox and handed over', async (t) => {
  const inbox = gzipSync(fileOf(6))
  await story.send('DEMO_07032024_Electric.csv.gz', inbox)
  const sent = await story.receiptOf('DEMO_07032024_Electric.csv.gz')
  t.match(sent, { status: 'published', rows: { read: 6, accepted: 4, rejected: 2 } })
  t.equal(sent.fileId, sha256(inbox), 'its id is that of the bytes as received')
  const handed = await story.loadBytes('DEMO_08032024_Electric.csv.gz', gzipSync(fileOf(7)))
  t.match(handed, { status: 'published', quantity: { read: '7.625', accepted: '3.625' } })
  t.ok(balance(sent) && balance(handed))
})

t.test('daily gas reads stand on their local day', async (t) => {
  const gas = ['A1,S1,G-1,3/9/2024,7', 'A1,S1,G-1,3/10/2024,8', 'A1,S1,G-1,3/11/2024,9']
  const receipt = await story.loadBytes(
    'DEMO_12032024_Gas.csv',
    `${[header, ...gas].join('\r\n')}\r\n`,
  )
  t.match(receipt, {
    feed: 'Gas',
    rows: { read: 3, accepted: 3 },
    firstIntervalStart: '2024-03-09T05:00:00.000Z',
  })
  const found = await story.reader.rows({
    sql: `SELECT toString(starts_at) AS starts_at, local_day, seconds, toString(quantity) AS quantity, unit
      FROM usage WHERE commodity = 'Gas' ORDER BY starts_at`,
  })
  const shared = { seconds: 86_400, unit: 'ccf' }
  t.same(found, [
    { starts_at: '2024-03-09 05:00:00', local_day: '2024-03-09', quantity: '7', ...shared },
    { starts_at: '2024-03-10 05:00:00', local_day: '2024-03-10', quantity: '8', ...shared },
    { starts_at: '2024-03-11 04:00:00', local_day: '2024-03-11', quantity: '9', ...shared },
  ])
})

t.test('what loading needed is gone when it has ended', async (t) => {
  await until(async () => {
    const left = await story.store.rows({
      sql: `SELECT name FROM system.tables WHERE startsWith(name, 'staging_')`,
    })
    return left.length === 0
  })
  t.pass('no staging table is left')
})

t.test('the logs hold no identifier and no quantity of any row', async (t) => {
  t.match(story.logs(), /"job":"settle"/, 'they show the jobs')
  const said = story.logs().replaceAll(/"time":"[^"]*"/g, '')
  t.notMatch(said, /9100200000|5113000|E-1|1\.25|n\/a/)
})

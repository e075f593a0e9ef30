/**
 * # 3.4 Bad names
 *
 * What: Names with paths, control characters or other companies, and the same file sent twice.
 * Why: A name comes from outside. It must not lead to another folder, and a file must count once
 * whatever it is called.
 * Try: Load a file twice, then once more with `--again`, and compare the receipts.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { follow, header, openStory, readIfThere, until } from '../rig/stack.js'

const story = await openStory(t)

const textOf = (...quantities: readonly (string | number)[]) =>
  `${[header, ...quantities.map((one, index) => `A,S,M-${index},3/4/2024,${one}`)].join('\n')}\n`

t.test('a name that is none is quarantined, and leads nowhere outside the outbox', async (t) => {
  const names = [
    '..%2f..%2fetc%2fpasswd',
    '...csv',
    'DEMO_05032024_Electric.csv; rm -rf ~',
    'DEMO_05032024_Electric.csv\nDEMO',
    '\u202eDEMO_05032024_Electric.csv',
    '-rf',
    '$(touch x).csv',
    'DEMO_32132024_Electric.csv',
    'DEMO_05032024_Water.csv',
    'DEMO_05032024_Electric.exe',
    `${'x'.repeat(251)}.csv`,
  ]
  const before = new Set(readdirSync(join(story.home.path, '..')))
  const arrivals: number[] = []
  for (const name of names) {
    await writeFile(join(story.desk, name), textOf(1))
    arrivals.push((await story.submission.submit(join(story.desk, name))).arrival)
  }
  for (const [index, arrival] of arrivals.entries()) {
    const receipt = await follow(story.submission, arrival)
    const what = JSON.stringify(names[index])
    t.match(receipt, { status: 'quarantined', feed: null }, what)
    t.match(receipt.reason, /^FILE_NAME: .* is not <CompanyCode>_<DDMMYYYY>_<Feed>/, what)
    t.notMatch(receipt.reason, /[\n\u202e]/, 'nothing unseen is shown')
  }
  t.same(new Set(readdirSync(join(story.home.path, '..'))), before)
  for (const name of readdirSync(story.home.outbox)) t.match(name, /^[A-Za-z0-9][A-Za-z0-9._-]*$/)
})

t.test('a name that is none takes the place of no receipt', async (t) => {
  const name = 'DEMO_04032024_Gas.csv'
  await story.loadBytes(name, textOf(1, 'bad'))
  for (const like of ['DEMO 04032024_Gas.csv', 'DEMO_04032024?Gas.csv']) {
    t.match(await story.loadBytes(like, textOf(1)), { status: 'quarantined' })
  }
  t.match(await story.receiptOf(name), { fileName: name, status: 'published' })
  t.ok(existsSync(story.outbox(`${name}.rejects.csv`)), 'nor does it take its rejects away')
})

t.test('the longest names a file can have leave the inbox, links and folders stay', async (t) => {
  const { inbox, quarantine } = story.home
  const names = [`${'x'.repeat(251)}.csv`, `${'y'.repeat(236)}.csv`, 'é'.repeat(127)]
  symlinkSync(join(story.desk, 'DEMO_04032024_Gas.csv'), join(inbox, 'DEMO_03032024_Gas.csv'))
  mkdirSync(join(inbox, 'DEMO_02032024_Gas.csv'))
  for (const name of names) await writeFile(join(inbox, name), textOf(1))
  await until(() => names.every((name) => !existsSync(join(inbox, name))))
  t.same(readdirSync(inbox).sort(), ['DEMO_02032024_Gas.csv', 'DEMO_03032024_Gas.csv'])
  await until(() => readdirSync(quarantine).length === 2 * names.length)
})

t.test('a name with a path in it is a file of that path, and no more', async (t) => {
  await writeFile(join(story.home.path, 'DEMO_05032024_Gas.csv'), textOf(1))
  const receipt = await story.load(join(story.desk, '..', 'data', 'DEMO_05032024_Gas.csv'))
  t.match(receipt, { fileName: 'DEMO_05032024_Gas.csv', status: 'published' })
})

t.test('a file of another company is quarantined in the inbox, a warning by hand', async (t) => {
  const name = 'OTHER_05032024_Gas.csv'
  await story.send(name, textOf(1))
  t.match(await story.receiptOf(name), {
    status: 'quarantined',
    reason: /^COMPANY_CODE: OTHER is not in companyCodes \(DEMO\); .*add the code/,
  })
  await until(() => !existsSync(join(story.home.inbox, name)))
  const put = readdirSync(story.home.quarantine).filter((one) => one.endsWith(name))
  t.equal(put.length, 1, 'it lies in the quarantine')
  const receiptPath = join(story.home.quarantine, `${put[0]}.receipt.json`)
  await until(() => readIfThere(receiptPath) !== undefined)
  t.ok(readIfThere(receiptPath), 'with its receipt')
  const handed = await story.loadBytes('OTHER_06032024_Gas.csv', textOf(2))
  t.match(handed, { status: 'published', notes: [/^OTHER is not in companyCodes/] })
})

t.test('the same file later is a duplicate that changes nothing and names the first', async (t) => {
  const name = 'DEMO_06032024_Gas.csv'
  const first = await story.loadBytes(name, textOf(3, 'bad'))
  const rejects = readFileSync(story.outbox(`${name}.rejects.csv`), 'utf8')
  const again = await story.loadBytes(name, textOf(3, 'bad'))
  t.match(again, {
    status: 'duplicate',
    fileId: first.fileId,
    reason: /^the same file was published as arrival \d+ on 20/,
    rows: { ...first.rows, accepted: 0, duplicate: first.rows.accepted },
    publishedAt: first.publishedAt,
  })
  t.equal(readFileSync(story.outbox(`${name}.rejects.csv`), 'utf8'), rejects)
})

t.test('--again loads the same file once more, and doubles nothing', async (t) => {
  const forced = await story.load(join(story.desk, 'DEMO_06032024_Gas.csv'), { again: true })
  t.match(forced, {
    status: 'published',
    rows: { read: 2, accepted: 0, duplicate: 1, rejected: 1 },
  })
})

t.test('the same file twice at once is one file and its duplicate', async (t) => {
  const name = 'DEMO_07032024_Gas.csv'
  await writeFile(join(story.desk, name), textOf(4, 5, 6))
  const arrivals = await Promise.all(
    [1, 2, 3].map(() => story.submission.submit(join(story.desk, name))),
  )
  t.equal(new Set(arrivals.map((one) => one.arrival)).size, 3, 'three arrivals')
  const statuses: string[] = []
  for (const { arrival } of arrivals)
    statuses.push((await follow(story.submission, arrival)).status)
  t.same(statuses.sort(), ['duplicate', 'duplicate', 'published'])
  const [found] = await story.reader.rows({
    sql: `SELECT toString(count()) AS rows FROM usage AS u
      INNER JOIN file_load AS f USING (file_id) WHERE f.file_name = {name:String}`,
    parameters: { name },
  })
  t.same(found, { rows: '3' })
})

t.test('other bytes under the same name are a new file, and the later one counts', async (t) => {
  const name = 'DEMO_07032024_Gas.csv'
  const receipt = await story.loadBytes(name, textOf(4, 5.5, 'bad'))
  t.match(receipt, {
    status: 'published',
    rows: { read: 3, accepted: 1, duplicate: 1, rejected: 1 },
    restated: { rows: 1, netQuantity: '0.5' },
  })
  t.ok(existsSync(story.outbox(`${name}.rejects.csv`)))
  const fixed = await story.loadBytes(name, textOf(4, 5.5, 6.5))
  t.match(fixed, { status: 'published', rows: { rejected: 0 }, restated: { rows: 1 } })
  t.notOk(existsSync(story.outbox(`${name}.rejects.csv`)), 'no rejects of the earlier one are left')
  const kept = readdirSync(story.outbox('arrivals')).filter((one) => one.includes(name))
  const statuses = kept
    .filter((one) => one.endsWith('.receipt.json'))
    .map((one) => JSON.parse(readFileSync(story.outbox(`arrivals/${one}`), 'utf8')).status)
  t.same(statuses.sort(), ['duplicate', 'duplicate', ...Array(3).fill('published')])
  t.equal(
    kept.filter((one) => one.endsWith('.rejects.csv')).length,
    1,
    'each arrival keeps its own',
  )
})

t.test('a file that is sent again with the time of the first gets its receipt', async (t) => {
  const name = 'DEMO_08032024_Gas.csv'
  const path = join(story.home.inbox, name)
  const receipt = story.outbox(`${name}.receipt.json`)
  await story.send(name, textOf(7))
  const { mtime } = statSync(path)
  t.match(await story.receiptOf(name), { status: 'published' })
  await until(() => !existsSync(path))
  rmSync(receipt)
  await writeFile(`${path}.part`, textOf(7))
  utimesSync(`${path}.part`, mtime, mtime)
  renameSync(`${path}.part`, path)
  t.match(await story.receiptOf(name), { status: 'duplicate' })
  await until(() => !existsSync(path))
})

t.test('a file that is gone before it is read ends, and says so', async (t) => {
  const name = 'DEMO_09032024_Gas.csv'
  await writeFile(join(story.desk, name), textOf(8))
  const busy = await story.submission.submit(join(story.desk, 'DEMO_06032024_Gas.csv'), {
    again: true,
  })
  const { arrival } = await story.submission.submit(join(story.desk, name))
  rmSync(join(story.desk, name))
  const receipt = await follow(story.submission, arrival)
  t.match(receipt, { status: /published|quarantined/ })
  if (receipt.status === 'quarantined') {
    t.match(
      receipt.reason,
      /^SOURCE_CHANGED: DEMO_09032024_Gas\.csv is gone from .*; send it again/,
    )
  }
  await follow(story.submission, busy.arrival)
})

t.test('a file that is not there, or is a folder, is refused at the desk', async (t) => {
  await t.rejects(story.submission.submit(join(story.desk, 'none.csv')), {
    code: 'SOURCE_UNREACHABLE',
    message: /none\.csv does not exist/,
  })
  await t.rejects(story.submission.submit(story.desk), { message: /is not a file/ })
})

/**
 * # 8.1 A file comes by SFTP
 *
 * What: A file is fetched from an SFTP server; interrupted transfers resume and receipts are put
 * back.
 * Why: SFTP is the standard transport of utilities, and connections break.
 * Try: Add a source of kind `sftp` and run `tieline doctor`.
 */
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSources } from '../../../pipeline/sources/state.js'
import { balance, receiptSchema } from '../../../schemas/receipt.js'
import { createProxy } from '../../pipeline/sources/servers/proxy.js'
import { createSshd } from '../../pipeline/sources/servers/sshd.js'
import { createFolder } from '../../rig/folder.js'
import { header, openStory, readIfThere, until } from '../rig/stack.js'

const sshd = await createSshd(createFolder(t))
t.teardown(() => sshd.close())
const proxy = await createProxy({ target: { host: '127.0.0.1', port: sshd.port } })
t.teardown(() => proxy.close())
const outgoing = createFolder(t)

const story = await openStory(t, {
  profile: {
    sources: [
      {
        kind: 'sftp',
        name: 'mdm',
        host: '127.0.0.1',
        port: proxy.port,
        ...sshd.login,
        path: outgoing,
        pollSeconds: 1,
        timeoutMs: 5_000,
      },
    ],
  },
  stack: { secret: (reference) => readFileSync('file' in reference ? reference.file : '', 'utf8') },
})

const meters = 40_000
const rowsOf = (day: number) =>
  Array.from({ length: meters }, (_, meter) => `A${meter},S${meter},M${meter},3/${day}/2024 0:00,1`)
const fileOf = (day: number) => `${[header, ...rowsOf(day)].join('\n')}\n`
const nameOf = (day: number) => `DEMO_${String(day + 1).padStart(2, '0')}032024_Electric.csv`

/** As a careful sender does: under another name first. */
function put(name: string, text: string): void {
  writeFileSync(join(outgoing, `${name}.part`), text)
  renameSync(join(outgoing, `${name}.part`), join(outgoing, name))
}

t.test('a file on the server is loaded, and its receipt lies where it was', async (t) => {
  put(nameOf(4), fileOf(4))
  const beside = join(outgoing, `${nameOf(4)}.receipt.json`)
  await until(() => readIfThere(beside) !== undefined)
  const receipt = receiptSchema.parse(JSON.parse(readFileSync(beside, 'utf8')))
  t.match(receipt, { status: 'published', rows: { read: meters, accepted: meters } })
  t.ok(balance(receipt))
  await until(() => !readdirSync(outgoing).includes(nameOf(4)))
  t.ok(readdirSync(story.home.archive).includes(`1-${nameOf(4)}`), 'the archive has it')
  await until(() => readdirSync(story.home.landing).length === 0)
})

t.test('a connection that is cut in the middle costs nothing', async (t) => {
  proxy.cutAfter(700_000)
  put(nameOf(5), fileOf(5))
  await until(() => proxy.passed() >= 700_000)
  proxy.pass()
  const receipt = await story.receiptOf(nameOf(5))
  t.match(receipt, { status: 'published', rows: { read: meters, accepted: meters } })
  const [stored] = await story.reader.rows<{ rows: string }>({
    sql: 'SELECT count() AS rows FROM usage',
  })
  t.equal(Number(stored?.rows), 2 * meters, 'no read is lost and none is there twice')
})

t.test('an unreachable server is reported, and its files come when it is back', async (t) => {
  proxy.down()
  const state = async () => (await readSources(story.store)).get('mdm')
  await until(async () => ((await state())?.failure?.failures ?? 0) > 1)
  t.match((await state())?.failure, { code: 'SOURCE_UNREACHABLE' })
  put(nameOf(6), fileOf(6))
  proxy.pass()
  t.match(await story.receiptOf(nameOf(6)), { status: 'published' })
  t.equal(await state(), undefined)
})

t.test('a file of no feed is put away with a receipt that says why', async (t) => {
  put('passwords.txt', 'root:x')
  const beside = join(outgoing, 'passwords.txt.receipt.json')
  await until(() => readIfThere(beside) !== undefined)
  t.match(JSON.parse(readFileSync(beside, 'utf8')), { status: 'quarantined', reason: /FILE_NAME/ })
  await until(() => !readdirSync(outgoing).includes('passwords.txt'))
  t.ok(readdirSync(story.home.quarantine).some((name) => name.endsWith('passwords.txt')))
})

t.test('the vendor renames its files: refused with the remedy, which is one line', async (t) => {
  const name = 'usage-el_2024-03-08.csv'
  const beside = join(outgoing, `${name}.receipt.json`)
  put(name, fileOf(7))
  await until(() => readIfThere(beside) !== undefined)
  const refused = receiptSchema.parse(JSON.parse(readFileSync(beside, 'utf8')))
  t.match(refused, {
    status: 'quarantined',
    reason: /"usage-el_.*" is not <Company.* fileNames in/,
  })
  await until(() => !readdirSync(outgoing).includes(name))
  const kept = readdirSync(story.home.quarantine).find((one) => one.endsWith(name)) ?? ''

  await story.restart({
    fileNames: [{ like: 'usage-el_<YYYY>-<MM>-<DD>', feed: 'Electric' }],
  })
  rmSync(beside)
  put(name, readFileSync(join(story.home.quarantine, kept), 'utf8'))
  put(nameOf(8), fileOf(8))
  for (const loaded of [name, nameOf(8)]) {
    const receipt = join(outgoing, `${loaded}.receipt.json`)
    await until(() => readIfThere(receipt) !== undefined)
    t.match(JSON.parse(readFileSync(receipt, 'utf8')), {
      fileName: loaded,
      feed: 'Electric',
      status: 'published',
      rows: { read: meters, accepted: meters },
    })
  }
})

t.test('no key and no row is in the logs', async (t) => {
  t.notMatch(story.logs(), /PRIVATE KEY|3\/4\/2024|root:x/)
})

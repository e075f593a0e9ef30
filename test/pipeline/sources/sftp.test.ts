import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { connectSftp } from '../../../pipeline/sources/sftp.js'
import { createFolder } from '../../rig/folder.js'
import { conform, createRig, textOf } from './conformance.js'
import { type Away, conformAway } from './conformance-away.js'
import { placeAt } from './folder-place.js'
import { createProxy } from './servers/proxy.js'
import { createSshd } from './servers/sshd.js'
import { parseSource } from './settings.js'

const sshd = await createSshd(createFolder(t))
t.teardown(() => sshd.close())

async function prepare(t: Test, more: object = {}): Promise<Away & { readonly folder: string }> {
  const proxy = await createProxy({ target: { host: '127.0.0.1', port: sshd.port } })
  t.teardown(() => proxy.close())
  const folder = createFolder(t)
  const settings = parseSource({
    kind: 'sftp',
    name: 'mdm',
    host: '127.0.0.1',
    port: proxy.port,
    ...sshd.login,
    path: folder,
    timeoutMs: 4_000,
    ...more,
  })
  const secret = (reference: object) =>
    'file' in reference ? readFileSync(String(reference.file), 'utf8') : 'secret'
  return { settings, secret, folder, proxy, ...placeAt(folder) }
}

t.test('it is a source', async (t) => conform(t, prepare))
t.test('it is a source on another machine', async (t) => conformAway(t, prepare))

t.test('a server with another key is refused, and the key that it shows is reported', async (t) => {
  const other = `SHA256:${'A'.repeat(43)}`
  const { source } = await createRig(t, (t) => prepare(t, { hostKeys: [other] }))
  await t.rejects(source.list(), {
    code: 'SOURCE_IDENTITY',
    detail: `shows the key ${sshd.fingerprint}`,
  })
  const both = await createRig(t, (t) => prepare(t, { hostKeys: [other, sshd.fingerprint] }))
  t.same(await both.source.list(), [], 'one of several is enough')
})

t.test('a login that fails says whose, and not with what', async (t) => {
  const key = { key: { file: sshd.otherKeyPath } }
  const { source } = await createRig(t, (t) => prepare(t, key))
  const detail = new RegExp(`refused ${sshd.user}`)
  await t.rejects(source.list(), { code: 'SOURCE_LOGIN', detail })
  const none = await createRig(t, (t) => prepare(t, { key: { env: 'NONE' } }))
  await t.rejects(none.source.list(), { code: 'SOURCE_LOGIN', detail: /cannot be read/ })
})

t.test(
  'what is asked of a connection while it ends fails, and nothing waits for ever',
  async (t) => {
    const { settings, secret, proxy } = await prepare(t)
    if (settings.kind !== 'sftp') throw new Error(settings.kind)
    for (let round = 0; round < 5; round++) {
      proxy.pass()
      const remote = await connectSftp(settings, secret)()
      const asked: Promise<string>[] = []
      const ended = (call: Promise<unknown>) =>
        call.then(
          () => 'answered',
          () => 'rejected',
        )
      proxy.down()
      for (let turns = 0; turns < 5 || remote.isOpen(); turns++) {
        asked.push(ended(remote.list()), ended(remote.look('/none')))
        if (turns % 2 === 0) await turn()
        else await sleep(1)
      }
      t.same([...new Set(await Promise.all(asked))], ['rejected'])
      await remote.close()
    }
  },
)

t.test('a folder of 10,000 files is listed to the last', async (t) => {
  const { source, folder } = await createRig(t, prepare)
  const names = Array.from({ length: 10_000 }, (_, index) => `DEMO_05032024_Gas_${index}.csv`)
  for (const name of names) writeFileSync(join(folder, name), name)
  const listed = await source.list()
  t.equal(listed.length, 10_000)
  t.equal(textOf(listed.map(({ name }) => name)), textOf(names))
})

t.test('links and folders are not files', async (t) => {
  const { source, folder } = await createRig(t, prepare)
  mkdirSync(join(folder, 'folder.csv'))
  symlinkSync('/etc/passwd', join(folder, 'link.csv'))
  t.same(await source.list(), [])
  t.match(source.others?.(), /: folder folder.csv, link link.csv;/)
})

t.test('a name that is not UTF-8 cannot be asked for and is not a file', async (t) => {
  const { source, folder } = await createRig(t, prepare)
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/caf`), Buffer.from([0xe9])]), 'x')
  t.same(await source.list(), [])
  t.match(source.others?.(), /: unusable name caf\?;/)
})

t.test('a missing folder is reported', async (t) => {
  const gone = await createRig(t, (t) => prepare(t, { path: '/nowhere/at/all' }))
  await t.rejects(gone.source.list(), { code: 'SOURCE_REFUSED', detail: /\/nowhere\/at\/all/ })
})

t.test('a server that moves no file over another is given receipts all the same', async (t) => {
  const other = await createSshd(createFolder(t), { denied: 'posix-rename' })
  t.teardown(() => other.close())
  const { port, keyPath, fingerprint } = other
  const more = { port, key: { file: keyPath }, hostKeys: [fingerprint], ended: 'rename' }
  const { source, put, arrive, names, text } = await createRig(t, (t) => prepare(t, more))
  for (const receipt of ['{"n":1}', '{"n":2}']) {
    await put('a.csv', receipt)
    const arrival = await arrive('a.csv')
    await source.settle(arrival, { outcome: 'published', receipt, rejectsPath: undefined })
    t.equal(await text('a.csv.receipt.json'), receipt)
  }
  t.same(await names(), ['a.csv.receipt.json'])
  t.same([...(await names('ended'))].sort(), ['1-a.csv', '2-a.csv'])
})

t.test('a server whose SFTP program hangs is given up, and answers again', async (t) => {
  const at = (name: string) => join(home, name)
  const home = createFolder(t)
  const [pid, program] = [at('pid'), at('program')]
  const lines = ['#!/bin/sh', `echo $$ > ${pid}`, 'exec /usr/lib/openssh/sftp-server', '']
  writeFileSync(program, lines.join('\n'), { mode: 0o700 })
  const other = await createSshd(home, { program })
  t.teardown(() => other.close())
  const { port, login } = other
  const more = { port, ...login, timeoutMs: 1_000 }
  const { source, put } = await createRig(t, (t) => prepare(t, more))
  await put('a.csv', 'a')
  t.equal((await source.list()).length, 1)
  const hung = Number(readFileSync(pid, 'utf8'))
  process.kill(hung, 'SIGSTOP')
  const silent = { code: 'SOURCE_UNREACHABLE', detail: /no response within 1000 ms/ }
  await t.rejects(source.list(), silent)
  process.kill(hung, 'SIGKILL')
  t.equal((await source.list()).length, 1)
  await source.close()
  writeFileSync(program, '#!/bin/sh\nexec sleep 30\n')
  await t.rejects(source.list(), silent)
})

t.test('the fingerprint is the one that ssh-keyscan shows', async (t) => {
  const scanned = execFileSync(
    'sh',
    ['-c', `ssh-keyscan -p ${sshd.port} 127.0.0.1 2>/dev/null | ssh-keygen -lf -`],
    { encoding: 'utf8' },
  )
  t.ok(scanned.includes(sshd.fingerprint))
  t.ok(existsSync(sshd.keyPath))
})

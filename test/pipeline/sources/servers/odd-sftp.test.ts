import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Arrival } from '../../../../pipeline/ledger/ledger.js'
import { fetchFile } from '../../../../pipeline/sources/fetch-file.js'
import { connectSftp } from '../../../../pipeline/sources/sftp.js'
import { createFolder } from '../../../rig/folder.js'
import { parseSource } from '../settings.js'
import { createOddSftp, type OddSftp } from './odd-sftp.js'

const usual: OddSftp = {
  password: 'correct-horse',
  attributes: { mode: 0o100644, size: 5, atime: 1_700_000_000, mtime: 1_700_000_000 },
  methods: ['password', 'keyboard-interactive'],
}

async function prepare(t: Test, odd: Partial<OddSftp>) {
  const server = await createOddSftp({ ...usual, ...odd })
  t.teardown(() => server.close())
  const { port, publicKey, attempts } = server
  const print = createHash('sha256').update(publicKey).digest('base64').replace(/=+$/, '')
  const settings = parseSource({
    kind: 'sftp',
    name: 'mdm',
    host: '127.0.0.1',
    port,
    user: 'tieline',
    password: { env: 'PASSWORD' },
    hostKeys: [`SHA256:${print}`],
    path: '/',
    timeoutMs: 4_000,
  })
  const connect = (password: string) => connectSftp(settings, () => password)()
  return { attempts, connect }
}

t.test('a server that asks for the password in a dialogue is given it, and once', async (t) => {
  for (const methods of [['keyboard-interactive'], usual.methods] as const) {
    const { attempts, connect } = await prepare(t, { methods })
    const remote = await connect('correct-horse')
    t.equal((await remote.list()).length, 1)
    await remote.close()
    attempts.length = 0
    await t.rejects(connect('wrong-horse'), { code: 'SOURCE_LOGIN', detail: /refused tieline/ })
    t.same(attempts, methods.slice(0, 1), 'a server bans who tries too often')
  }
})

t.test('a file is loaded whatever its server leaves out of its status', async (t) => {
  const { size, mtime } = usual.attributes
  const times = { mtime, atime: mtime }
  const longname = '-rw-r--r-- 1 a b 5 Nov 14 2023 a.csv'
  const file = { path: '/a.csv', bytes: 5, modifiedMs: 1_700_000_000_000 }
  const cases = [
    [{ size, ...times }, longname, file],
    [{ size, ...times, mode: 0o644 }, longname, file],
    [{ size, ...times, mode: 0o644 }, '', file],
    [{ size, mode: 0o100644 }, longname, { ...file, modifiedMs: 0 }],
  ] as const
  for (const [attributes, longname, expected] of cases) {
    const { connect } = await prepare(t, {
      attributes: attributes as OddSftp['attributes'],
      longname,
    })
    const remote = await connect('correct-horse')
    t.match(await remote.list(), [{ ...expected, other: undefined }])
    t.match(await remote.look('/a.csv'), expected)
    await remote.close()
  }
  const other = await prepare(t, {
    attributes: { size: 5, ...times } as OddSftp['attributes'],
    longname: 'lrwxrwxrwx 1 a b 5 Nov 14 2023 a.csv -> b.csv',
  })
  const remote = await other.connect('correct-horse')
  t.match(await remote.list(), [{ other: 'link' }])
  await remote.close()
})

t.test('a file is not cut to a size that is too small', async (t) => {
  const content = 'hello world'
  for (const size of [content.length, 5, 0, undefined]) {
    const attributes = { mode: 0o100644, atime: 1, mtime: 1, ...(size !== undefined && { size }) }
    const { connect } = await prepare(t, { attributes, content })
    const remote = await connect('correct-horse')
    const arrival = {
      name: 'a.csv',
      path: '/a.csv',
      bytes: size ?? 0,
      modifiedMs: 1_000,
    } as Arrival
    const path = join(createFolder(t), 'copy')
    const fetched = fetchFile(remote, arrival, { path, freeDiskBytesMin: 0 })
    if (size === content.length) {
      await fetched
      t.equal(readFileSync(path, 'utf8'), content)
    } else await t.rejects(fetched, { code: 'SOURCE_CHANGED' }, `${size}`)
    await remote.close()
  }
})

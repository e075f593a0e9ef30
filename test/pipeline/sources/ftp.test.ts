import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { connectFtp } from '../../../pipeline/sources/ftp.js'
import type { RemoteFile } from '../../../pipeline/sources/remote-files.js'
import { createFolder } from '../../rig/folder.js'
import { bytesOf, conform, createRig, readAll } from './conformance.js'
import { type Away, conformAway } from './conformance-away.js'
import { placeAt } from './folder-place.js'
import { createNoOverwrite } from './servers/no-overwrite.js'
import { type Between, createProxy } from './servers/proxy.js'
import { createVsftpd, type Vsftpd } from './servers/vsftpd.js'
import { parseSource } from './settings.js'

const servers = {
  off: await createVsftpd({ path: createFolder(t), tls: 'off', host: '127.0.0.2' }),
  explicit: await createVsftpd({ path: createFolder(t), tls: 'explicit' }),
  implicit: await createVsftpd({ path: createFolder(t), tls: 'implicit' }),
}
for (const server of Object.values(servers)) t.teardown(() => server.close())

type Tls = keyof typeof servers

function settingsOf(server: Vsftpd, more: object) {
  return parseSource({
    kind: 'ftp',
    name: 'mdm',
    host: '127.0.0.1',
    port: server.port,
    user: server.user,
    password: { env: 'PASSWORD' },
    tls: 'off',
    timeoutMs: 4_000,
    ...more,
  })
}

/** The control connection and all data connections lead through proxies on the same ports. */
async function createProxies(server: Vsftpd): Promise<Away['proxy']> {
  const { host } = server
  const proxies: Between[] = []
  for (const port of [server.port, ...server.dataPorts]) {
    const proxy = await createProxy({ target: { host, port }, port })
    t.teardown(() => proxy.close())
    proxies.push(proxy)
  }
  const data = proxies.slice(1)
  const each = (some: readonly Between[], act: (proxy: Between) => void) => {
    for (const proxy of some) act(proxy)
  }
  return {
    passed: () => data.reduce((sum, proxy) => sum + proxy.passed(), 0),
    cutAfter: (bytes) => each(data, (proxy) => proxy.cutAfter(bytes)),
    holdAfter: (bytes) => each(data, (proxy) => proxy.holdAfter(bytes)),
    pass: () => each(proxies, (proxy) => proxy.pass()),
    down: () => each(proxies, (proxy) => proxy.down()),
  }
}

const proxy = await createProxies(servers.off)

async function prepare(t: Test): Promise<Away> {
  const folder = createFolder(t)
  const settings = settingsOf(servers.off, { path: folder })
  return { settings, proxy, secret: () => servers.off.password, ...placeAt(folder) }
}

async function prepareTls(t: Test, tls: Exclude<Tls, 'off'>, more: object = {}) {
  const server = servers[tls]
  const folder = createFolder(t)
  const { host, caFile } = server
  const settings = settingsOf(server, { path: folder, host, tls, caFile, ...more })
  return { settings, secret: () => server.password, ...placeAt(folder) }
}

t.test('it is a source', async (t) => conform(t, prepare))
t.test('it is a source on another machine', async (t) => conformAway(t, prepare))
t.test('it is one over TLS', async (t) => conform(t, (t) => prepareTls(t, 'explicit')))

t.test('links and folders are mentioned, not loaded', async (t) => {
  const folder = createFolder(t)
  const place = placeAt(folder)
  const settings = settingsOf(servers.off, { path: folder })
  const secret = () => servers.off.password
  const { source, put } = await createRig(t, async () => ({ settings, secret, ...place }))
  mkdirSync(join(folder, 'folder.csv'))
  symlinkSync('/etc/passwd', join(folder, 'link.csv'))
  await put('a.csv', 'x')
  t.match(await source.list(), [{ name: 'a.csv' }])
  t.match(source.others?.(), /: folder folder.csv, link link.csv;/)
})

t.test('a missing folder is reported, and never taken for an empty one', async (t) => {
  const path = join(createFolder(t), 'later')
  const settings = settingsOf(servers.off, { path, host: servers.off.host })
  const secret = () => servers.off.password
  const { source } = await createRig(t, async () => ({ settings, secret, ...placeAt(path) }))
  const missing = { code: 'SOURCE_REFUSED', detail: /anonymous into .*later: 550.*; fix path/ }
  await t.rejects(source.list(), missing)
  mkdirSync(path)
  t.same(await source.list(), [])
})

t.test('TLS from the first byte', async (t) => {
  const { source, put, arrive } = await createRig(t, (t) => prepareTls(t, 'implicit'))
  await put('a.csv', 'bytes')
  t.equal((await readAll(source, await arrive('a.csv'))).toString(), 'bytes')
})

t.test('a certificate of an authority that is not trusted ends it', async (t) => {
  const more = { caFile: servers.implicit.caFile }
  const { source } = await createRig(t, (t) => prepareTls(t, 'explicit', more))
  await t.rejects(source.list(), { code: 'SOURCE_IDENTITY', detail: /caFile/ })
})

t.test('a server without TLS is not given the password', async (t) => {
  const { host, port, caFile } = { ...servers.off, caFile: servers.explicit.caFile }
  const more = { host, port, caFile }
  const { source } = await createRig(t, (t) => prepareTls(t, 'explicit', more))
  await t.rejects(source.list(), { code: 'SOURCE_REFUSED' })
})

t.test('a wrong password is reported, and not shown', async (t) => {
  const { source } = await createRig(t, async (t) => ({
    ...(await prepare(t)),
    secret: () => 'wrong-horse',
  }))
  await t.rejects(source.list(), { code: 'SOURCE_LOGIN', detail: /answered anonymous/ })
  const shown = await source.list().catch(String)
  t.notMatch(shown, /wrong-horse/)
})

t.test(
  'a missing right to remove files is reported, and a file that is gone is removed',
  async (t) => {
    const server = await createVsftpd({ path: createFolder(t), tls: 'off', denied: 'DELE' })
    t.teardown(() => server.close())
    const folder = createFolder(t)
    const { source, put, remove, arrive, archive } = await createRig(t, async () => ({
      settings: settingsOf(server, { path: folder }),
      secret: () => server.password,
      ...placeAt(folder),
    }))
    await put('a.csv', 'bytes')
    const arrival = await arrive('a.csv')
    const refused = { code: 'PERMISSION', detail: /does not let anonymous remove .*a\.csv; grant/ }
    const settlement = { outcome: 'published', receipt: '{}', rejectsPath: undefined } as const
    await t.rejects(source.settle(arrival, settlement), refused)
    t.same(readdirSync(archive), ['1-a.csv'])
    const detail = /does not let anonymous remove .*tieline-doctor\.tmp/
    await t.rejects(async () => source.tryWriting?.(), { code: 'PERMISSION', detail })
    await remove('a.csv')
    await source.settle(arrival, settlement)
  },
)

t.test('a server that puts nothing over a file is given receipts all the same', async (t) => {
  const between = await createNoOverwrite(servers.off)
  t.teardown(() => between.close())
  const { host, password } = servers.off
  const path = createFolder(t)
  const settings = settingsOf(servers.off, { path, host, port: between.port, ended: 'rename' })
  const prepared = { settings, secret: () => password, ...placeAt(path) }
  const { source, put, arrive, names, text } = await createRig(t, async () => prepared)
  mkdirSync(join(path, 'ended'))
  await put('a.csv.receipt.json.part', 'of an attempt that was cut off')
  for (const [second, receipt] of ['{"n":1}', '{"n":2}'].entries()) {
    await put('a.csv', receipt)
    const written = Date.UTC(2024, 2, 5, 6, 7, second) / 1000
    utimesSync(join(path, 'a.csv'), written, written)
    const arrival = await arrive('a.csv')
    await put(`ended/${arrival.arrival}-a.csv`, 'of an attempt whose answer was lost')
    await source.settle(arrival, { outcome: 'published', receipt, rejectsPath: undefined })
    t.equal(await text('a.csv.receipt.json'), receipt)
  }
  t.same(await names(), ['a.csv.receipt.json'])
  t.same([...(await names('ended'))].sort(), ['1-a.csv', '2-a.csv'])
})

t.test('a server that begins no file in its middle sends what is missing', async (t) => {
  const server = await createVsftpd({ path: createFolder(t), tls: 'off', denied: 'REST' })
  t.teardown(() => server.close())
  const path = createFolder(t)
  const remote = await connectFtp(settingsOf(server, { path }), () => server.password)()
  t.teardown(() => remote.close())
  const bytes = bytesOf(3_000_000)
  writeFileSync(join(path, 'a.csv'), bytes)
  const [file] = await remote.list()
  for (const from of [0, 1, 1_234_567, 2_999_999]) {
    const rest = await buffer(remote.open(file as RemoteFile, from))
    t.ok(rest.equals(bytes.subarray(from)), `from ${from}`)
  }
})

t.test('a file that changes within a minute, as long as before, is seen to', async (t) => {
  const folder = createFolder(t)
  const settings = settingsOf(servers.explicit, {
    path: folder,
    host: servers.explicit.host,
    tls: 'explicit',
    caFile: servers.explicit.caFile,
  })
  const { source, arrive } = await createRig(t, async () => ({
    settings,
    secret: () => servers.explicit.password,
    ...placeAt(folder),
  }))
  const path = join(folder, 'a.csv')
  const write = (text: string, second: number) => {
    const at = new Date(Date.UTC(2024, 2, 5, 6, 7, second))
    writeFileSync(path, text)
    utimesSync(path, at, at)
  }
  write('one', 8)
  const first = await arrive('a.csv')
  write('two', 9)
  await t.rejects(readAll(source, first), { code: 'SOURCE_CHANGED' })
  t.equal((await readAll(source, await arrive('a.csv'))).toString(), 'two')
})

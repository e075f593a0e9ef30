import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { interceptLocalhostDns } from 'fauxqs'
import t, { type Test } from 'tap'
import type { RemoteFile } from '../../../pipeline/sources/remote-files.js'
import { connectS3 } from '../../../pipeline/sources/s3.js'
import type { SettingsOf } from '../../../schemas/settings/source.js'
import { createFolder } from '../../rig/folder.js'
import { conform, createRig, readAll, textOf } from './conformance.js'
import { type Away, conformAway } from './conformance-away.js'
import { createProxy } from './servers/proxy.js'
import { partBytes, putObject } from './servers/s3-put.js'
import { createS3Server } from './servers/s3-server.js'
import { parseSource } from './settings.js'

const server = await createS3Server()
t.teardown(() => server.close())
/** Names below `s3.localhost` are this machine. */
t.teardown(interceptLocalhostDns('s3.localhost'))

const client = new S3Client({
  region: 'us-east-1',
  endpoint: `http://127.0.0.1:${server.port}`,
  forcePathStyle: true,
  credentials: { accessKeyId: 'sender', secretAccessKey: 'secret' },
})
t.teardown(() => client.destroy())

let buckets = 0
async function createBucket(): Promise<string> {
  const Bucket = `drop-${process.pid}-${++buckets}`
  await client.send(new CreateBucketCommand({ Bucket }))
  return Bucket
}

type Style = 'path' | 'virtual'

interface Dropped extends Away {
  readonly bucket: string
}

/** A place on a server of another maker. */
async function connectTo(t: Test, other: Server) {
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  const { settings } = await prepare(t, 'path', { endpoint: `http://127.0.0.1:${port}` })
  const place = await connectS3(settings as SettingsOf<'s3'>, () => 'secret')()
  t.teardown(place.close)
  return place
}

async function prepare(t: Test, style: Style = 'path', more: object = {}): Promise<Dropped> {
  const proxy = await createProxy({ target: { host: '127.0.0.1', port: server.port } })
  t.teardown(() => proxy.close())
  const bucket = await createBucket()
  const host = style === 'path' ? '127.0.0.1' : 's3.localhost'
  const settings = parseSource({
    kind: 's3',
    name: 'lake',
    bucket,
    prefix: 'out/usage/',
    endpoint: `http://${host}:${proxy.port}`,
    pathStyle: style === 'path',
    accessKeyId: { env: 'KEY' },
    secretAccessKey: { env: 'SECRET' },
    timeoutMs: 4_000,
    ...more,
  })
  const at = (name: string) => ({ Bucket: bucket, Key: `out/usage/${name}` })
  return {
    settings,
    bucket,
    proxy,
    secret: () => 'secret',
    put: (name, content) => putObject(client, at(name), Buffer.from(content)),
    names: (folder) =>
      namesBelow(bucket, folder === undefined ? 'out/usage/' : `out/usage/${folder}/`),
    text: async (name) => {
      const { Body } = await client.send(new GetObjectCommand(at(name)))
      return (await Body?.transformToString()) ?? ''
    },
    remove: async (name) => {
      await client.send(new DeleteObjectCommand(at(name)))
    },
  }
}

async function namesBelow(Bucket: string, Prefix: string): Promise<readonly string[]> {
  const found = await client.send(new ListObjectsV2Command({ Bucket, Prefix, Delimiter: '/' }))
  return (found.Contents ?? []).map(({ Key = '' }) => Key.slice(Prefix.length))
}

t.test('it is a source', async (t) => conform(t, prepare))
t.test('the bucket may be in the host name', async (t) => conform(t, (t) => prepare(t, 'virtual')))
t.test('it is a source on another machine', async (t) => conformAway(t, prepare))

t.test('a bucket of 1,010 objects is listed to the last; keys further down are not', async (t) => {
  const { source, put } = await createRig(t, prepare)
  const names = Array.from({ length: 1_010 }, (_, index) => `DEMO_05032024_Gas_${index}.csv`)
  for (let at = 0; at < names.length; at += 100) {
    await Promise.all(names.slice(at, at + 100).map((name) => put(name, name)))
  }
  await put('DEMO/other.csv', 'x')
  const listed = await source.list()
  t.equal(listed.length, names.length)
  t.equal(textOf(listed.map(({ name }) => name)), textOf(names))
})

t.test('folders and names that cannot be loaded are mentioned', async (t) => {
  const rig = await createRig(t, prepare)
  for (const name of ['', 'a.csv', 'line\n.csv', '2026/b.csv', 'ended/c.csv'])
    await rig.put(name, 'x')
  t.match(await rig.source.list(), [{ name: 'a.csv' }])
  t.match(rig.source.others?.(), /: folder 2026, unusable name line\?\.csv;/)
})

t.test(
  'another server is sent the bytes of a file, and nothing between or behind them',
  async (t) => {
    const bodies: string[] = []
    const other = createServer(async (request, response) => {
      bodies.push(`${request.headers['content-length']} ${await text(request)}`)
      response.end()
    })
    const place = await connectTo(t, other)
    const path = join(createFolder(t), 'rejects')
    writeFileSync(path, 'Line,Column\n')
    await place.write('a.csv.rejects.csv', { path })
    t.same(bodies, ['12 Line,Column\n'])
  },
)

t.test('an object that is sent in parts is not there before its last', async (t) => {
  const rig = await createRig(t, prepare)
  const at = { Bucket: rig.bucket, Key: 'out/usage/parts.csv' }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(at))
  const part = { ...at, UploadId, PartNumber: 1, Body: Buffer.alloc(partBytes, 'a') }
  await client.send(new UploadPartCommand(part))
  t.same(await rig.source.list(), [])
  await rig.put('parts.csv', Buffer.alloc(partBytes + 7, 'b'))
  const bytes = await readAll(rig.source, await rig.arrive('parts.csv'))
  t.ok(bytes.equals(Buffer.alloc(partBytes + 7, 'b')))
})

t.test('a drop folder: files come from one bucket and end in a third', async (t) => {
  const third = await createBucket()
  const more = { ended: 'rename', endedBucket: third, receipts: false }
  const rig = await createRig(t, (t) => prepare(t, 'path', more))
  const theirs = await createBucket()
  const name = 'DEMO_05032024_Electric.csv'
  await client.send(new PutObjectCommand({ Bucket: theirs, Key: name, Body: 'rows' }))
  const to = { Bucket: rig.bucket, Key: `out/usage/${name}` }
  await client.send(new CopyObjectCommand({ ...to, CopySource: `${theirs}/${name}` }))
  const arrival = await rig.arrive(name)
  t.equal((await readAll(rig.source, arrival)).toString(), 'rows')
  const settlement = { outcome: 'published', receipt: '{}', rejectsPath: undefined } as const
  await rig.source.settle(arrival, settlement)
  t.same(await rig.names(), [])
  t.same(await namesBelow(third, 'out/usage/ended/'), [`1-${name}`])
})

t.test('an object that S3 copies only in parts is not renamed; the error says why', async (t) => {
  const { settings, put } = await prepare(t)
  await put('a.csv', 'rows')
  const place = await connectS3(settings as SettingsOf<'s3'>, () => 'secret')()
  t.teardown(place.close)
  const found = (await place.list())[0] as RemoteFile
  const large = { ...found, bytes: 5 * 1024 ** 3 + 1 }
  const detail = /a\.csv has 5368709121 bytes .* use ended: take, mark or leave/
  await t.rejects(place.move(large, '1-a.csv'), { code: 'SOURCE_REFUSED', detail })
  t.same(await place.list(), [found])
})

t.test('an object replaced while it is copied is not removed', async (t) => {
  const requests: string[] = []
  const ETag = '"one"'
  const other = createServer((request, response) => {
    requests.push(`${request.method}`)
    const headers = {
      'content-type': 'application/xml',
      etag: request.method === 'HEAD' ? '"two"' : ETag,
    }
    const body = `<CopyObjectResult><ETag>${ETag}</ETag></CopyObjectResult>`
    response.writeHead(200, headers).end(request.method === 'PUT' ? body : '')
  })
  const place = await connectTo(t, other)
  const path = 'out/usage/a.csv'
  await place.move({ name: 'a.csv', path, bytes: 4, modifiedMs: 0, tag: ETag }, '1-a.csv')
  t.same(requests, ['PUT', 'HEAD'])
})

t.test('an object rewritten in the same second, as long as before, is another', async (t) => {
  const rig = await createRig(t, prepare)
  await rig.put('a.csv', 'x'.repeat(8_000_000))
  const arrival = await rig.arrive('a.csv')
  rig.proxy.cutAfter(3_000_000)
  await t.rejects(async () => rig.source.fetch?.(arrival), { code: 'SOURCE_UNREACHABLE' })
  rig.proxy.pass()
  await rig.put('a.csv', 'y'.repeat(8_000_000))
  const { modifiedMs } = await rig.arrive('a.csv')
  const bytes = await readAll(rig.source, { ...arrival, modifiedMs })
  t.notOk(bytes.includes('x'), 'nothing of the first is in it')
})

t.test('a missing bucket is reported', async (t) => {
  const { source } = await createRig(t, (t) => prepare(t, 'path', { bucket: 'nobodys-bucket' }))
  await t.rejects(source.list(), { code: 'SOURCE_REFUSED', detail: /nobodys-bucket/ })
})

t.test('a refusal or an invalid answer is reported, never taken for an empty folder', async (t) => {
  let answer: readonly [number, string] = [200, '']
  const other = createServer((_, response) => {
    const [status, body] = answer
    response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  const { source } = await createRig(t, (t) =>
    prepare(t, 'path', { endpoint: `http://127.0.0.1:${port}` }),
  )
  const refusal = (code: string) => `<Error><Code>${code}</Code><Message>no</Message></Error>`
  const listing = (rows: string) => `<ListBucketResult>${rows}</ListBucketResult>`
  const more = '<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>'
  const object = '<Contents><Key>out/usage/a.csv</Key><Size>1</Size></Contents>'
  const objects = `${object}<Contents><Key>out/usage/..</Key></Contents>${object}`
  const cases: readonly (readonly [number, string, string, RegExp])[] = [
    [401, refusal('Unauthorized'), 'SOURCE_LOGIN', /Unauthorized/],
    [403, refusal('SignatureDoesNotMatch'), 'PERMISSION', /SignatureDoesNotMatch/],
    [400, refusal('InvalidRequest'), 'SOURCE_REFUSED', /InvalidRequest/],
    [503, refusal('SlowDown'), 'SOURCE_UNREACHABLE', /SlowDown/],
    [200, '<html>a proxy says welcome</html>', 'SOURCE_UNREACHABLE', /not a listing/],
    [200, 'no XML', 'SOURCE_UNREACHABLE', /bucket drop-/],
    [
      200,
      listing('<IsTruncated>true</IsTruncated>'),
      'SOURCE_UNREACHABLE',
      /no continuation token/,
    ],
    [200, listing(`${more}${objects}`), 'SOURCE_UNREACHABLE', /repeats a continuation token/],
  ]
  for (const [status, body, code, detail] of cases) {
    answer = [status, body]
    await t.rejects(source.list(), { code, detail }, `${status} ${body}`)
  }
  answer = [200, listing('<IsTruncated>false</IsTruncated>')]
  t.same(await source.list(), [])
  answer = [200, listing(`<IsTruncated>false</IsTruncated>${objects}`)]
  t.match(await source.list(), [{ name: 'a.csv' }])
  t.equal((await source.list()).length, 1, 'what is shown twice is there once')
})

import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { constants, gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { toDownload } from '../../../api/reads/document.js'
import type { GatewayRequest, Handle } from '../../../api/request.js'
import { createRaw } from './raw.js'
import type { Served } from './served.js'

const piece = '#'.repeat(65_536)
/** What the sockets of both sides may hold, with room: a download is made no further ahead. */
const piecesMax = 640
const get = 'GET /download HTTP/1.1\r\nHost: gateway\r\n\r\n'

const closed = (stream: Readable) =>
  new Promise<void>((resolve) => {
    if (stream.closed) resolve()
    else stream.once('close', resolve)
  })

/** What both listeners promise of a body that comes in pieces. */
export function giveDownloads(
  t: Test,
  serve: (handle: Handle, more?: { stopMsMax?: number }) => Promise<Served>,
): void {
  /** Serves a stream for each request, and returns those that were made. */
  const serveStreams = async (
    make: () => Iterable<string> | AsyncIterable<string>,
    more: { stopMsMax?: number } = {},
  ) => {
    const streams: Readable[] = []
    const { listener, tls } = await serve(async ({ id }) => {
      const stream = Readable.from(make())
      stream.on('error', () => undefined)
      streams.push(stream)
      return { status: 200, headers: [['Content-Type', 'text/plain']], body: '', stream, id }
    }, more)
    return { streams, listener, open: () => createRaw({ port: listener.port, tls }) }
  }
  const everything = (text: string) =>
    /^HTTP\/1\.1 200/.test(text) && /transfer-encoding: chunked/i.test(text)

  t.test('a download comes complete, and the connection serves the next', async (t) => {
    const { open } = await serveStreams(() => ['one\n', piece, 'last\n'])
    const client = await open()
    for (const count of [1, 2]) {
      client.send(get)
      const text = await client.textWith('last\n\r\n0\r\n\r\n', count)
      t.ok(everything(text))
      t.equal(text.match(/#+/g)?.join('').length, count * piece.length)
    }
    client.destroy()
  })

  t.test('a download that fails is cut, never ended', async (t) => {
    const { open } = await serveStreams(function* () {
      yield 'one\n'
      throw new Error('the store is gone')
    })
    const client = await open()
    client.send(get)
    await client.closed()
    t.notMatch(await client.textWith(''), '\r\n0\r\n\r\n')
    client.destroy()
  })

  t.test('a client that stops reading is dropped, and not one that waits for more', async (t) => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = await serveStreams(async function* () {
      yield 'one\n'
      await released
      yield 'last\n'
    })
    const patient = await slow.open()
    patient.send(get)
    await patient.textWith('one\n')
    let made = 0
    const { streams, open } = await serveStreams(function* () {
      for (;;) {
        made++
        yield piece
      }
    })
    const client = await open()
    client.pause()
    client.send(get)
    while (streams.length === 0) await new Promise(setImmediate)
    const [stream] = streams as [Readable]
    await closed(stream)
    t.ok(made < piecesMax, `no more is made for him: ${made} pieces of 64 kB`)
    client.destroy()
    release()
    t.match(await patient.textWith('last\n\r\n0\r\n\r\n'), 'last\n\r\n0\r\n\r\n')
    patient.destroy()
  })

  t.test('a client that leaves ends the download', async () => {
    const { streams, open } = await serveStreams(function* () {
      for (;;) yield piece
    })
    const client = await open()
    client.send(get)
    await client.textWith('###')
    client.destroy()
    const [stream] = streams as [Readable]
    await closed(stream)
  })

  t.test('a stop waits for a download, and takes no other', async (t) => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const { listener, open } = await serveStreams(async function* () {
      yield 'one\n'
      await released
      yield 'last\n'
    })
    const client = await open()
    client.send(get)
    await client.textWith('one')
    const closed = listener.close()
    const refused = async () => (await open().catch(() => undefined)) === undefined
    while (!(await refused())) await new Promise(setImmediate)
    release()
    t.ok(everything(await client.textWith('last\n\r\n0\r\n\r\n')))
    await closed
    await client.closed()
    client.destroy()
  })

  t.test('a stop cuts a download that goes on too long, and its stream ends', async (t) => {
    const more = async function* () {
      for (;;) {
        yield 'more\n'
        await sleep(10)
      }
    }
    const { streams, listener, open } = await serveStreams(more, { stopMsMax: 300 })
    const client = await open()
    client.send(get)
    await client.textWith('more')
    await listener.close()
    await client.closed()
    t.notMatch(await client.textWith(''), '\r\n0\r\n\r\n')
    await closed(streams[0] as Readable)
    client.destroy()
  })
}

const unpacked = (answer: string) => {
  const [head = '', ...rest] = answer.split('\r\n\r\n')
  const chunks = rest.join('\r\n\r\n')
  let body = ''
  for (let at = 0; at < chunks.length; ) {
    const start = chunks.indexOf('\r\n', at) + 2
    const length = Number.parseInt(chunks.slice(at, start), 16)
    body += chunks.slice(start, start + length)
    at = start + length + 2
  }
  const bytes = Buffer.from(body, 'latin1')
  return { head, text: String(gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH })) }
}

/** What both listeners promise of a compressed body that comes in pieces. */
export function giveCompressed(t: Test, serve: (handle: Handle) => Promise<Served>): void {
  const open = async (make: () => Iterable<string> | AsyncIterable<string>) => {
    const source = Readable.from(make())
    const { listener, tls } = await serve(async (request: GatewayRequest) => {
      const answer = toDownload(request, { kind: 'download', stream: source, headers: [] })
      if (answer.kind !== 'download') throw new Error(answer.kind)
      const { stream, headers } = answer
      stream.on('error', () => undefined)
      return { status: 200, headers, body: '', stream, id: request.id }
    })
    const client = await createRaw({ port: listener.port, tls })
    const ask = () => client.send(get.replace('\r\n\r\n', '\r\nAccept-Encoding: gzip\r\n\r\n'))
    return { source, client, ask }
  }

  t.test('a compressed piece is there before the next one is made', async (t) => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const { client, ask } = await open(async function* () {
      yield `${piece}first\n`
      await released
      yield 'last\n'
    })
    ask()
    let seen = ''
    while (!seen.endsWith('first\n')) {
      await new Promise(setImmediate)
      const answer = await client.textWith('')
      seen = answer.includes('\r\n\r\n') ? unpacked(answer).text : ''
    }
    release()
    const { head, text } = unpacked(await client.textWith('\r\n0\r\n\r\n'))
    t.equal(text, `${piece}first\nlast\n`)
    t.match(head, /content-encoding: gzip/i)
    t.match(head, /transfer-encoding: chunked/i)
    t.notMatch(head, /content-length/i)
    client.destroy()
  })

  t.test('a compressed download that fails is cut, never ended', async (t) => {
    const { client, ask } = await open(function* () {
      yield 'one\n'
      throw new Error('the store is gone')
    })
    ask()
    await client.closed()
    t.notMatch(await client.textWith(''), '\r\n0\r\n\r\n')
    client.destroy()
  })

  t.test('a client that stops reading compressed pieces is dropped', async (t) => {
    let made = 0
    const { source, client, ask } = await open(function* () {
      for (;;) {
        made++
        // Compresses to three quarters.
        yield randomBytes(48 * 1_024).toString('base64')
      }
    })
    client.pause()
    const before = process.memoryUsage().rss
    ask()
    await closed(source)
    t.ok(made < piecesMax, `${made} pieces of 64 kB`)
    const grown = process.memoryUsage().rss - before
    t.ok(grown < 64 * 1_024 ** 2, `${grown} bytes more`)
    client.destroy()
  })

  t.test('a client that leaves ends what is compressed for him', async () => {
    const { source, client, ask } = await open(function* () {
      for (;;) yield randomBytes(48 * 1_024).toString('base64')
    })
    ask()
    await client.textWith('\r\n\r\n')
    client.destroy()
    await closed(source)
  })
}

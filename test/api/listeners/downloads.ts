import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Handle } from '../../../api/request.js'
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

  t.test('a client that stops reading is dropped, and no more is made for him', async (t) => {
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
    t.ok(made < piecesMax, `${made} pieces of 64 kB`)
    client.destroy()
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

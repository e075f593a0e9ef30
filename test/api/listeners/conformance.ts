import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { GatewayRequest, GatewayResponse, Handle, Refuse } from '../../../api/request.js'
import { giveCompressed, giveDownloads } from './downloads.js'
import { resistFloods } from './floods.js'
import { createRaw, type RawClient } from './raw.js'
import type { Served } from './served.js'
import { resistSmuggling } from './smuggling.js'

export const limits = {
  headerBytesMax: 16_384,
  bodyBytesMax: 16_384,
  tokenBytesMax: 16_384,
  bodyMsMax: 2_000,
  answerMsMax: 5_000,
  connectionsMax: 60,
  requestsInFlightMax: 1_000,
  tokensCachedMax: 10,
  stopMsMax: 3_000,
} as const

/** Says what it was asked: at once, later, or not at all because it throws. */
export const echo: Handle = (request) => {
  if (request.path === '/throw') throw new Error('a broken handler')
  if (request.path === '/reject') return Promise.reject(new Error('a broken handler'))
  if (request.path === '/late') return sleep(150).then(() => answerTo(request))
  if (request.path === '/known') return { ...answerTo(request), status: 304, body: '' }
  return answerTo(request)
}

/** What was refused, as the log would have it. */
const refused: string[] = []
export const refuse: Refuse = (status, { id }) => {
  refused.push(`${status} ${id}`)
  return { status, headers: [], body: '', id }
}

function answerTo({ method, path, authorization, body, id }: GatewayRequest): GatewayResponse {
  const said = JSON.stringify({ method, path, body, token: authorization })
  return { status: 200, headers: [['Content-Type', 'application/json']], body: said, id }
}

const get = (path: string, ...fields: readonly string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: gateway', ...fields, '', ''].join('\r\n')
const postOf = (body: string, ...fields: readonly string[]) =>
  ['POST /echo HTTP/1.1', 'Host: gateway', ...fields, '', body].join('\r\n')

const statusOf = (answer: string | undefined) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer ?? '')?.[1])
const bodyOf = (answer: string | undefined) => {
  const text = (answer ?? '').split('\r\n\r\n')[1] ?? ''
  return text === '' ? undefined : (JSON.parse(text) as Readonly<Record<string, unknown>>)
}

/** What both listeners promise, byte by byte. */
export async function conform(
  t: Test,
  serve: (
    handle: Handle,
    more?: { requestsPerSecondMax?: number; allow?: string[]; stopMsMax?: number },
  ) => Promise<Served>,
): Promise<void> {
  const { listener, tls } = await serve(echo)
  const open = () => createRaw({ port: listener.port, tls })
  const ask = async (text: string): Promise<readonly string[]> => {
    const client = await open()
    client.send(text)
    const answers = await client.answers()
    client.destroy()
    return answers
  }

  t.test('a request is answered, however its bytes arrive', async (t) => {
    const client = await open()
    const [line = '', ...fields] = get('/now?token=secret', 'X-Request-Id: my-1').split('\r\n')
    client.send(`${line}\r\n`)
    for (const byte of fields.join('\r\n')) {
      client.send(byte)
      await sleep(1)
    }
    const [answer] = await client.answers()
    t.equal(statusOf(answer), 200)
    t.match(bodyOf(answer), { method: 'GET', path: '/now' }, 'the query is left out')
    t.match(answer, /x-request-id: my-1/i)
    const body = 'x'.repeat(1_000)
    const text = postOf(body, 'Content-Length: 1000')
    for (let at = 0; at < text.length; at += 97) {
      client.send(text.slice(at, at + 97))
      await sleep(1)
    }
    const [, second] = await client.answers(2)
    t.match(bodyOf(second), { method: 'POST', body }, 'on the same connection')
    client.send(postOf('3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'))
    const [, , third] = await client.answers(3)
    t.match(bodyOf(third), { body: 'abcde' })
    client.destroy()
  })

  t.test('an answer that the client has already states no length', async (t) => {
    const client = await open()
    client.send(get('/known'))
    const [known] = await client.answers()
    t.equal(statusOf(known), 304)
    t.notMatch(
      known,
      /content-length|transfer-encoding/i,
      'a cache would take it for that of the body',
    )
    client.send(get('/now'))
    const [, next] = await client.answers(2)
    t.match(bodyOf(next), { path: '/now' }, 'on the same connection')
    client.send(get('/known', 'Connection: close'))
    await client.closed()
    t.equal(statusOf((await client.answers(3))[2]), 304)
  })

  t.test('what two servers might read differently is refused', async (t) => {
    const wrong: Readonly<Record<string, string>> = {
      'two lengths': postOf('hello', 'Content-Length: 5', 'Content-Length: 6'),
      'two equal lengths': postOf('hello', 'Content-Length: 5', 'Content-Length: 5'),
      'a length and an encoding': postOf(
        '0\r\n\r\n',
        'Content-Length: 5',
        'Transfer-Encoding: chunked',
      ),
      'another encoding': postOf('0\r\n\r\n', 'Transfer-Encoding: xchunked'),
      'two encodings': postOf('0\r\n\r\n', 'Transfer-Encoding: gzip, chunked'),
      'a length that is none': postOf('', 'Content-Length: -1'),
      'a length in hexadecimal': postOf('', 'Content-Length: 0x5'),
      garbage: '\u0016\u0003\u0001\u0002\r\n\r\n',
    }
    for (const [name, text] of Object.entries(wrong)) {
      const client = await open()
      client.send(text)
      const answers = await client.answers()
      const [answer] = answers
      const isRefused = answers.length === 0 || [400, 505].includes(statusOf(answer))
      t.ok(isRefused, `${name}: ${statusOf(answer)}`)
      await client.closed()
    }
  })

  t.test('nothing is executed of an ambiguous request, nor of what follows it', async (t) => {
    const paths: string[] = []
    const { listener: recording } = await serve((request) => {
      paths.push(request.path)
      return echo(request)
    })
    await resistSmuggling(t, { port: recording.port, tls }, paths)
  })

  t.test('headers and bodies have their limits', async (t) => {
    const [long] = await ask(get('/now', `Authorization: Bearer ${'a'.repeat(12_000)}`))
    t.equal(statusOf(long), 200, 'a token of 12,000 characters')
    const [longer] = await ask(get('/now', `Authorization: Bearer ${'a'.repeat(20_000)}`))
    t.equal(statusOf(longer), 431, 'one of 20,000')
    const [announced] = await ask(postOf('', 'Content-Length: 20000'))
    t.equal(statusOf(announced), 413, 'a body that is announced as too long')
    const piece = `1000\r\n${'x'.repeat(4_096)}\r\n`
    const [streamed] = await ask(postOf(piece.repeat(5), 'Transfer-Encoding: chunked'))
    t.equal(statusOf(streamed), 413, 'a body that grows too long')
    const [least] = await ask(postOf('x'.repeat(16_384), 'Content-Length: 16384'))
    t.equal(statusOf(least), 200, 'a body of exactly the limit')
  })

  t.test('what is refused has a request id, and a line in the log', async (t) => {
    const wrong: readonly (readonly [number, string])[] = [
      [431, get('/now', `Authorization: Bearer ${'a'.repeat(20_000)}`)],
      [413, postOf('', 'Content-Length: 20000')],
      [400, postOf('0\r\n\r\n', 'Transfer-Encoding: gzip, chunked')],
    ]
    for (const [status, text] of wrong) {
      refused.length = 0
      const [answer] = await ask(text)
      t.equal(statusOf(answer), status)
      const id = /x-request-id: (\S+)/i.exec(answer ?? '')?.[1]
      t.same(refused, [`${status} ${id}`])
    }
    const client = await open()
    refused.length = 0
    client.send(postOf('zz\r\nabc', 'Transfer-Encoding: chunked'))
    await client.closed()
    t.match(refused, [/^400 \S/], 'a body that breaks off')
  })

  t.test('a client that is slow with its body is sent away', async (t) => {
    const client = await open()
    refused.length = 0
    client.send(postOf('hel', 'Content-Length: 5'))
    const [answer] = await client.answers()
    t.equal(statusOf(answer), 408)
    t.match(refused, [/^408 \S/])
    await client.closed()
  })

  t.test('clients that leave in the middle disturb nobody', async (t) => {
    const texts = [get('/late'), postOf('hel', 'Content-Length: 5'), 'GET /no', get('/now')]
    for (let round = 0; round < 25; round++) {
      for (const text of texts) {
        const client = await open()
        client.send(text)
        if (round % 2 === 0) await sleep(1)
        client.destroy()
      }
    }
    await sleep(300)
    t.equal(statusOf((await ask(get('/late')))[0]), 200)
  })

  t.test('a broken handler is a 500 without a body, and the next request is served', async (t) => {
    for (const path of ['/throw', '/reject']) {
      const [answer] = await ask(get(path))
      t.equal(statusOf(answer), 500, path)
      t.equal(bodyOf(answer), undefined)
    }
    t.equal(statusOf((await ask(get('/now')))[0]), 200)
  })

  t.test('pipelined requests are answered in order, or the connection closes', async (t) => {
    const mixed = async (paths: readonly string[]): Promise<readonly string[]> => {
      const client: RawClient = await open()
      client.send(paths.map((path) => get(path)).join(''))
      const answers = await client.answers(paths.length)
      client.destroy()
      return answers.map((answer) => String(bodyOf(answer)?.['path']))
    }
    t.same(await mixed(['/now', '/now', '/now']), ['/now', '/now', '/now'])
    const paths = ['/late', '/now']
    const answered = await mixed(paths)
    t.same(answered, paths.slice(0, answered.length), 'never one for the other')
  })

  t.test('more requests in a second than an address may send are 429', async (t) => {
    const { listener: narrow, tls } = await serve(echo, { requestsPerSecondMax: 5 })
    const client = await createRaw({ port: narrow.port, tls })
    const statuses: number[] = []
    for (let count = 1; count <= 40; count++) {
      client.send(get('/now'))
      statuses.push(statusOf((await client.answers(count)).at(-1)))
    }
    client.destroy()
    t.ok(statuses.includes(429), statuses.join(' '))
    t.ok(statuses.includes(200))
  })

  t.test('an address that is not allowed is not served', async (t) => {
    const { listener: closed, tls } = await serve(echo, { allow: ['10.0.0.0/8', '::1'] })
    const client = await createRaw({ port: closed.port, tls })
    client.send(get('/now'))
    const [answer] = await client.answers()
    t.ok(answer === undefined || statusOf(answer) === 403)
    client.destroy()
    const { listener: ours } = await serve(echo, { allow: ['127.0.0.0/8'] })
    const inside = await createRaw({ port: ours.port, tls })
    inside.send(get('/now'))
    t.equal(statusOf((await inside.answers())[0]), 200)
    inside.destroy()
  })

  resistFloods(t, { serve: () => serve(echo), connectionsMax: limits.connectionsMax, refused })
  giveDownloads(t, serve)
  giveCompressed(t, serve)

  t.test('a stop answers what has come in and closes what is idle', async (t) => {
    let came = 0
    const { listener: ending, tls } = await serve((request) => {
      came++
      return echo(request)
    })
    const idle = await createRaw({ port: ending.port, tls })
    const busy = await Promise.all(
      Array.from({ length: 20 }, () => createRaw({ port: ending.port, tls })),
    )
    for (const client of busy) client.send(get('/late'))
    while (came < busy.length) await sleep(5)
    const closed = ending.close()
    const answers = await Promise.all(busy.map((client) => client.answers()))
    t.ok(answers.every(([answer]) => statusOf(answer) === 200))
    await closed
    await Promise.all([idle, ...busy].map((client) => client.closed()))
    await t.rejects(createRaw({ port: ending.port, tls }), 'nobody listens any more')
  })
}

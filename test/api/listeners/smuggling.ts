import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { createRaw, type RawServer } from './raw.js'

const host = 'Host: gateway'
const post = (fields: readonly string[], body = '') =>
  ['POST /first HTTP/1.1', host, ...fields, '', body].join('\r\n')
const encoded = (value: string) => post([`Transfer-Encoding: ${value}`], '0\r\n\r\n')
const chunked = (body: string) => post(['Transfer-Encoding: chunked'], body)
/** More fields than Node shows by default. */
const behindMany = (field: string) => post([...Array<string>(1_500).fill('a:b'), field])

/** Requests whose end two servers might see at different places, and requests for two hosts. */
const ambiguous: Readonly<Record<string, string>> = {
  'a length and an encoding': post(
    ['Content-Length: 5', 'Transfer-Encoding: chunked'],
    '0\r\n\r\n',
  ),
  'an encoding and a length': post(
    ['Transfer-Encoding: chunked', 'Content-Length: 5'],
    '0\r\n\r\n',
  ),
  'two lengths': post(['Content-Length: 5', 'Content-Length: 6'], 'hello'),
  'two lengths, the first 0': post(['Content-Length: 0', 'Content-Length: 5'], 'hello'),
  'two equal lengths': post(['Content-Length: 5', 'Content-Length: 5'], 'hello'),
  'a list of lengths': post(['Content-Length: 5, 5'], 'hello'),
  'a length with a sign': post(['Content-Length: +5'], 'hello'),
  'a negative length': post(['Content-Length: -1']),
  'a length in hexadecimal': post(['Content-Length: 0x5'], 'hello'),
  'an empty length': post(['Content-Length: ']),
  'a length beyond 64 bits': post(['Content-Length: 99999999999999999999'], 'hello'),
  'an unknown encoding': encoded('xchunked'),
  'gzip, chunked': encoded('gzip, chunked'),
  'chunked, gzip': encoded('chunked, gzip'),
  'chunked, chunked': encoded('chunked, chunked'),
  'two encodings': post(['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
  'chunked and identity': post(
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
    '0\r\n\r\n',
  ),
  identity: encoded('identity'),
  'an empty encoding': encoded(''),
  'a quoted encoding': encoded('"chunked"'),
  'an encoding behind a vertical tab': encoded('\vchunked'),
  'a blank before the colon of a length': post(['Content-Length : 5'], 'hello'),
  'a blank before the colon of an encoding': post(['Transfer-Encoding : chunked'], '0\r\n\r\n'),
  'a folded field': post(['X-A: b', ' Content-Length: 5'], 'hello'),
  'a folded encoding': post(['Transfer-Encoding:', ' chunked'], '0\r\n\r\n'),
  'a bare CR in a field': post(['X-A: b\rContent-Length: 5'], 'hello'),
  'a bare LF behind a field': post(['X-A: b\nContent-Length: 5'], 'hello'),
  'a NUL in a field': post(['X-A: b\0c']),
  'a field without a colon': post(['X-A']),
  'a blank before the first field': `POST /first HTTP/1.1\r\n ${host}\r\n\r\n`,
  'HTTP/1.0 with an encoding': encoded('chunked').replace('HTTP/1.1', 'HTTP/1.0'),
  'HTTP/2.0': post([]).replace('HTTP/1.1', 'HTTP/2.0'),
  'HTTP/0.9': 'GET /first\r\n\r\n',
  'bare LF everywhere': post([]).replaceAll('\r', ''),
  'no host': 'GET /first HTTP/1.1\r\nX-A: b\r\n\r\n',
  'two equal hosts': post([host]),
  'two hosts': post(['Host: other']),
  'two hosts with many fields between them': behindMany('Host: other'),
  'an encoding behind many fields': behindMany('Transfer-Encoding: gzip, chunked'),
  'two hosts, and an expectation': post(['Host: other', 'Expect: what nobody knows']),
}

/** Bodies that some parsers end earlier than others. */
const malformedChunks: Readonly<Record<string, string>> = {
  'LF behind the size': chunked('3\nabc\r\n0\r\n\r\n'),
  'LF behind the data': chunked('3\r\nabc\n0\r\n\r\n'),
  'nothing behind the data': chunked('3\r\nabc0\r\n\r\n'),
  'letters behind the data': chunked('3\r\nabcxx0\r\n\r\n'),
  'LF at the end': chunked('3\r\nabc\r\n0\n\n'),
  'a blank behind the size': chunked('3 \r\nabc\r\n0\r\n\r\n'),
  'a tab behind the size': chunked('3\t\r\nabc\r\n0\r\n\r\n'),
  'a blank before the size': chunked(' 3\r\nabc\r\n0\r\n\r\n'),
  'LF in an extension': chunked('3;a\nxx\r\nabc\r\n0\r\n\r\n'),
  'CR in an extension': chunked('3;a\rb\r\nabc\r\n0\r\n\r\n'),
  'a size with 0x': chunked('0x3\r\nabc\r\n0\r\n\r\n'),
  'a size with a sign': chunked('+3\r\nabc\r\n0\r\n\r\n'),
  'a size beyond 32 bits': chunked('100000003\r\nabc\r\n0\r\n\r\n'),
  'a size beyond 64 bits': chunked('10000000000000003\r\nabc\r\n0\r\n\r\n'),
  'no size': chunked('\r\nabc\r\n0\r\n\r\n'),
  'CR alone': chunked('3\rabc\r0\r\r'),
  'a length in the trailer': chunked('3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n'),
}

const tail = `GET /behind HTTP/1.1\r\n${host}\r\n\r\n`
/** A server that means to execute what it has received does so in less. */
const quietMs = 100

/**
 * Nothing behind an ambiguous request is executed, nor is the request itself; `paths` are those that
 * were handled. A request with malformed chunks may be executed, and is the last one then.
 */
export async function resistSmuggling(
  t: Test,
  server: RawServer,
  paths: readonly string[],
): Promise<void> {
  let count = 0
  /** Whether the request and the one behind it are handled; the first `expected` of them are waited for. */
  const send = async (text: string, isOnePacket: boolean, expected = 0) => {
    const id = count++
    const handled = () => [paths.includes(`/first-${id}`), paths.includes(`/behind-${id}`)]
    const own = (part: string) => part.replace(/ (\/first|\/behind) ?/, ` $1-${id} `)
    const client = await createRaw(server)
    const [first, second] = [own(text), own(tail)]
    client.send(isOnePacket ? first + second : first)
    await sleep(quietMs)
    if (!isOnePacket) client.send(second)
    if (expected > 0) await client.answers(expected)
    await sleep(quietMs)
    client.destroy()
    return handled()
  }
  const both = (text: string) => Promise.all([send(text, true), send(text, false)])
  const nothing = [false, false]
  await inTurns(Object.entries(ambiguous), async ([name, text]) => {
    t.same(await both(text), [nothing, nothing], name)
  })
  await inTurns(Object.entries(malformedChunks), async ([name, text]) => {
    const [[, one] = [], [, two] = []] = await both(text)
    t.same([one, two], nothing, `chunks: ${name}`)
  })
  const closing = await send(post(['Connection: close']), true, 1)
  t.same(closing, [true, false], 'nor is what follows a request that asks to close')
  t.same(await send(post([]), true, 2), [true, true], 'an unambiguous pair is executed')
}

/** So many cases at a time that each of their two connections is within the server's limit. */
const casesAtOnce = 20

async function inTurns<T>(cases: readonly T[], look: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < cases.length; at += casesAtOnce)
    await Promise.all(cases.slice(at, at + casesAtOnce).map(look))
}

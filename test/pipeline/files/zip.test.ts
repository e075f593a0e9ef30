import { readdirSync } from 'node:fs'
import t from 'tap'
import { inflate } from '../../../pipeline/files/inflate.js'
import { Fault } from '../../../schemas/fault.js'
import { type ZipPart, zipOf } from './zip-file.js'

const folder = t.testdir()
const bytes = Buffer.from('AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit\n'.repeat(50))
const name = 'DEMO_05032024_Electric.csv'
const limits = { compression: 'zip', fileBytesMax: 1e9, ratioMax: 200, folder } as const

async function* pieces(whole: Buffer, size = 1_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size)
}

async function unpack(
  whole: Buffer,
  options: Partial<typeof limits> | object = {},
): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of inflate(pieces(whole), { ...limits, ...options })) parts.push(part)
  return Buffer.concat(parts)
}

const one = (part: Partial<ZipPart> = {}) => zipOf({ name, bytes, ...part })

t.test('a zip of one file gives its bytes, deflated or stored', async (t) => {
  t.same(await unpack(one()), bytes)
  t.same(await unpack(one({ method: 0 })), bytes)
  t.same(await unpack(one({ name: 'anything else.CSV' })), bytes)
  t.same(await unpack(one({ bytes: Buffer.alloc(0), method: 0 })), Buffer.alloc(0))
  t.same(await unpack(one({ bytes: Buffer.alloc(0) })), Buffer.alloc(0))
})

const good = one()
const cutData = Buffer.concat([good.subarray(0, 60), good.subarray(61)])
const swapped = Buffer.from(good)
swapped[90] = (swapped[90] as number) ^ 0xff

const hostile: readonly (readonly [string, Buffer, RegExp])[] = [
  ['no bytes', Buffer.alloc(0), /is refused/],
  ['no zip', bytes, /End of central directory record signature not found/],
  ['a zip cut short', good.subarray(0, -1), /is refused/],
  ['a zip cut in its file', good.subarray(0, 80), /is refused/],
  ['a byte too few in the file', cutData, /is refused/],
  ['another byte in the file', swapped, /is refused/],
  ['rubbish behind it', Buffer.concat([good, Buffer.from('rubbish')]), /extra bytes at the end/],
  ['rubbish before it', Buffer.concat([Buffer.from('#!/bin/sh\n'), good]), /is refused/],
  ['a zip behind a zip', Buffer.concat([one({ name: 'a.csv' }), good]), /is refused/],
  ['no file', zipOf(), /it contains 0 files/],
  ['two files', zipOf({ name, bytes }, { name: 'b.csv', bytes }), /it contains 2 files/],
  ['a folder', one({ name: 'a.csv/' }), /named "a.csv\/"/],
  ['a file in a folder', one({ name: 'a/b.csv' }), /without a path/],
  ['a path upwards', one({ name: '../b.csv' }), /is refused/],
  ['a path from the root', one({ name: '/etc/b.csv' }), /is refused/],
  ['a path of Windows', one({ name: 'C:\\b.csv' }), /is refused/],
  ['a dot name', one({ name: '.csv' }), /without a path/],
  ['another kind of file', one({ name: 'run.exe' }), /named "run.exe"/],
  [
    'a control character in the name',
    one({ name: 'a\u001b[2Jb.csv', flags: 0x800 }),
    /without a path/,
  ],
  ['no name', one({ name: '' }), /without a path/],
  ['a link', one({ mode: 0o120777 }), /a link or folder/],
  ['a device', one({ mode: 0o060666 }), /a link or folder/],
  ['an encrypted file', one({ flags: 1 }), /it is encrypted/],
  ['a strongly encrypted file', one({ flags: 0x41 }), /encrypt/],
  ['another method', one({ method: 12 }), /method is 12/],
  ['a wrong checksum', one({ crc: 1 }), /checksum/],
  ['a size too small', one({ size: bytes.length - 1 }), /declares/],
  ['a size too large', one({ size: bytes.length + 1 }), /declares/],
  ['two names', one({ localName: 'other.csv' }), /has two names for its file/],
]

t.test('anything but one plain file is refused, and says what was found', async (t) => {
  for (const [what, whole, found] of hostile) {
    const refused = await unpack(whole).catch((error: unknown) => error)
    t.ok(refused instanceof Fault, what)
    t.match(refused, { code: 'ARCHIVE', detail: found }, what)
  }
})

t.test('a zip is cut off at its limits', async (t) => {
  const noughts = Buffer.alloc(40 * 1_048_576)
  await t.rejects(unpack(one({ bytes: noughts })), { code: 'RATIO' })
  await t.rejects(unpack(one(), { fileBytesMax: 100 }), { code: 'FILE_TOO_LARGE' })
  const lying = one({ bytes: noughts, size: 10 })
  await t.rejects(unpack(lying), { code: 'ARCHIVE', detail: /declares 10 bytes/ })
})

t.test('an error of the source stays what it is', async (t) => {
  async function* failing(): AsyncGenerator<Buffer> {
    yield good.subarray(0, 50)
    throw new Fault('SOURCE_CHANGED', 'it changed')
  }
  const read = async () => {
    for await (const _ of inflate(failing(), limits)) t.fail('no bytes come out')
  }
  await t.rejects(read(), { code: 'SOURCE_CHANGED' })
})

t.test('nothing stays behind', async (t) => {
  t.same(readdirSync(folder), [])
})

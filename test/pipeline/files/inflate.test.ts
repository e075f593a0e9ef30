import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type InflateOptions, inflate } from '../../../pipeline/files/inflate.js'

const limits: InflateOptions = {
  compression: 'gzip',
  fileBytesMax: 100_000_000,
  ratioMax: 200,
  folder: t.testdir(),
}

async function* inPieces(bytes: Buffer, size = bytes.length || 1): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function collect(bytes: AsyncIterable<Buffer>, options: Partial<InflateOptions> = {}) {
  const pieces: Buffer[] = []
  for await (const piece of inflate(bytes, { ...limits, ...options })) pieces.push(piece)
  return Buffer.concat(pieces)
}

const text = Buffer.from('a,b,c\n1,2,3\n'.repeat(5_000))
const packed = gzipSync(text)

t.test('what was packed comes out, whatever the pieces it comes in', async (t) => {
  for (const size of [1, 7, 1_000, packed.length]) {
    t.ok((await collect(inPieces(packed, size))).equals(text), `pieces of ${size} bytes`)
  }
  const two = Buffer.concat([gzipSync('one\n'), gzipSync('two\n')])
  t.equal(String(await collect(inPieces(two))), 'one\ntwo\n', 'several members are one file')
  t.ok(
    (await collect(inPieces(text), { compression: 'none' })).equals(text),
    'nor is plain changed',
  )
})

t.test('a gzip that is cut anywhere is refused', async (t) => {
  for (const length of [1, 9, 18, packed.length >> 1, packed.length - 8, packed.length - 1]) {
    await t.rejects(collect(inPieces(packed.subarray(0, length))), { code: 'ARCHIVE' }, `${length}`)
  }
})

t.test(
  'bytes behind a gzip are refused, zeros too, in the same piece or a later one',
  async (t) => {
    for (const extra of [
      Buffer.from('x'),
      Buffer.alloc(1),
      Buffer.alloc(3_000_000),
      Buffer.from('PK'),
    ]) {
      const bytes = Buffer.concat([packed, extra])
      await t.rejects(collect(inPieces(bytes)), { code: 'ARCHIVE' })
      await t.rejects(collect(inPieces(bytes, packed.length)), { code: 'ARCHIVE' })
    }
  },
)

t.test('too much is refused: in all, or for each byte of the archive', async (t) => {
  await t.rejects(collect(inPieces(text), { compression: 'none', fileBytesMax: 10 }), {
    code: 'FILE_TOO_LARGE',
    detail: /more than 10 bytes \(limits\.fileBytesMax\)/,
  })
  await t.rejects(collect(inPieces(packed), { fileBytesMax: 10 }), { code: 'FILE_TOO_LARGE' })
  const bomb = gzipSync(Buffer.alloc(40_000_000))
  await t.rejects(collect(inPieces(bomb, 4_096)), { code: 'RATIO', detail: /limits\.ratioMax/ })
  const harmless = gzipSync(Buffer.alloc(1_000_000))
  t.equal((await collect(inPieces(harmless))).length, 1_000_000, 'a small file may pack well')
})

t.test('a fault of the source is passed on', async (t) => {
  async function* failing(): AsyncGenerator<Buffer> {
    yield packed.subarray(0, 100)
    throw new Error('the cable broke')
  }
  await t.rejects(collect(failing()), { message: 'the cable broke' })
  await t.rejects(collect(inPieces(packed), { compression: 'zip' }), { code: 'ARCHIVE' })
})

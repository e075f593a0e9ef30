import { readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { chunkName, createLanding, isAsWritten } from '../../../pipeline/files/landing.js'
import { splitRows } from '../../../pipeline/files/rows.js'
import { measure } from '../../../pipeline/usage/measure/measure.js'
import { createSeenTimestamps } from '../../../pipeline/usage/timestamps.js'
import type { Decimals, LandedChunk } from '../../../schemas/manifest.js'
import { runs } from '../../rig/sample.js'

const chunkBytes = 200_000
const stamps = createSeenTimestamps(() => undefined)

async function land(folder: string, bytes: Buffer, pieceBytes = 65_536, rowsCut = 1) {
  const seen: LandedChunk[] = []
  let numbers: Decimals | undefined
  const landing = await createLanding({
    folder,
    chunkBytes,
    firstLine: 2,
    measure: (bytes) => {
      const { micros, ...measured } = measure(bytes, stamps)
      return { ...measured, micros: micros.toString(), repeats: false }
    },
    rowsCut: async (row, decimals) => {
      numbers = decimals
      return row.raw.endsWith('!') ? 0 : rowsCut
    },
    onChunk: async (chunk) => void seen.push(chunk),
  })
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      await landing.add(bytes.subarray(at, at + pieceBytes))
    }
    return { ...(await landing.end()), seen, numbers }
  } finally {
    await landing.close()
  }
}

const rowsOf = (count: number, site = 'S') =>
  Array.from({ length: count }, (_, index) => `A,${site},M${index},3/4/2024,0.5`).join('\n')

t.test('the chunks are the file; each ends with a row and knows its first line', async (t) => {
  const folder = join(t.testdir(), '7')
  const bytes = Buffer.from(`${rowsOf(40_000)}\n`)
  const { chunks, unendedRow, seen } = await land(folder, bytes)
  t.ok(chunks.length > 3)
  t.same(seen, chunks, 'each was announced in its turn')
  t.equal(unendedRow, undefined)
  const files = chunks.map((chunk) => readFileSync(join(folder, chunkName(chunk.chunk))))
  t.ok(Buffer.concat(files).equals(bytes))
  let line = 2
  for (const [index, chunk] of chunks.entries()) {
    t.match(chunk, { chunk: index, line, bytes: files[index]?.length ?? 0, format: 'plain' })
    line += chunk.lines
  }
  t.equal(
    chunks.reduce((sum, chunk) => sum + chunk.rows, 0),
    40_000,
  )
  t.equal(
    chunks.reduce((sum, chunk) => sum + BigInt(chunk.micros), 0n),
    20_000_000_000n,
  )
})

t.test('no row is cut, wherever its line ends in quotes fall', async () => {
  const site = fc.constantFrom('S', '"S,\n""S"""', '"S\r\nS"', '6"', '""', '"\n\n"')
  await fc.assert(
    fc.asyncProperty(
      site,
      fc.nat(500),
      fc.integer({ min: 500, max: 300_000 }),
      async (...drawn) => {
        const [text, shift, pieceBytes] = drawn
        const bytes = Buffer.from(`${'x'.repeat(shift)}\n${rowsOf(9_000, text)}\n`)
        const folder = join(t.testdirName, 'property')
        const { chunks } = await land(folder, bytes, pieceBytes)
        const rows = chunks.flatMap((chunk) => [
          ...splitRows(readFileSync(join(folder, chunkName(chunk.chunk))), chunk.line),
        ])
        const whole = [...splitRows(bytes, 2)]
        return JSON.stringify(rows) === JSON.stringify(whole)
      },
    ),
    { numRuns: runs(25), verbose: 1 },
  )
})

t.test('the last row is reported if it has no line end, with quotes too', async (t) => {
  const folder = join(t.testdir(), '1')
  const last = async (text: string) => (await land(folder, Buffer.from(text))).unendedRow
  t.same(await last('a,b\nc,d'), { line: 3, raw: 'c,d', hasReturn: false })
  t.same(await last('a,b\nc,d\r'), { line: 3, raw: 'c,d', hasReturn: true })
  t.same(await last('a,"b\n"\nc,"d\ne"'), { line: 4, raw: 'c,"d\ne"', hasReturn: false })
  t.equal(await last('a,b\n'), undefined)
  t.equal(await last(''), undefined)
})

t.test('a last row that may be cut is named by its line, in its chunk alone', async (t) => {
  const folder = join(t.testdir(), '1')
  const { chunks, seen } = await land(folder, Buffer.from(rowsOf(20_000)))
  t.ok(chunks.length > 1)
  t.same(seen, chunks)
  t.same(chunks.at(-1)?.cutLine, 20_001)
  for (const chunk of chunks.slice(0, -1)) t.notOk('cutLine' in chunk)
  const whole = await land(folder, Buffer.from(`${rowsOf(20_000)}!`))
  for (const chunk of whole.chunks) t.notOk('cutLine' in chunk)
  const day = await land(folder, Buffer.from(rowsOf(20_000)), 65_536, 24)
  t.same(day.chunks.at(-1)?.cutLine, 20_001 - 23)
  const { rows = 0 } = chunks.at(-1) ?? {}
  await t.rejects(land(folder, Buffer.from(rowsOf(20_000)), 65_536, rows + 1), {
    code: 'TRUNCATED',
    detail: /end the file with a line end/,
  })
})

t.test('the decimals of all rows are known before the last row is judged', async (t) => {
  const folder = join(t.testdir(), '1')
  const found = async (...values: string[]) => {
    const rows = values.map((value) => `A,S,M,3/4/2024,${value}`)
    return (await land(folder, Buffer.from(rows.join('\n')))).numbers
  }
  t.same(await found('0.10', '0.25'), { count: 2, padded: true })
  t.same(await found('0.12', '0.20'), { count: 2, padded: false }, 'the last row shows nothing')
  t.same(await found('0.10', '0.2', '0.25'), { count: 0, padded: true })
  t.same(await found('0.10', '-.25', '', 'x', '0.'), { count: 2, padded: true })
  t.same(await found('0.10', ' 0.2', '0.25'), { count: 0, padded: true })
  t.same(await found('0.1234560', '0.1234567'), { count: 7, padded: true })
  t.match(await found('10', '20'), { count: 0 })
  t.match(await found('.10', '2'), { count: 0 }, 'no digit of another column counts')
  t.same(await found('"0.10"', '0.25'), { count: 2, padded: true })
  t.same(await found('"0.10"', '" 0.3"', '0.25'), { count: 0, padded: true })
})

t.test('what is not text or not a table is refused', async (t) => {
  const folder = join(t.testdir(), '1')
  const refused = (bytes: Buffer) => land(folder, bytes)
  await t.rejects(refused(Buffer.from('a\nb\0\n')), {
    code: 'ENCODING',
    detail: /NUL byte.*line 2/,
  })
  await t.rejects(refused(Buffer.from('a\nb\xff\n', 'latin1')), { code: 'ENCODING' })
  await t.rejects(refused(Buffer.alloc(300_000, 'x')), { code: 'ROW_LENGTH', detail: /line 2 is/ })
})

t.test('landing a file again leaves nothing of the first time', async (t) => {
  const folder = join(t.testdir(), '1')
  await land(folder, Buffer.from(`${rowsOf(40_000)}\n`))
  await land(folder, Buffer.from('a,b\n'))
  t.same(readdirSync(folder), ['000000.csv'])
})

t.test('a folder that cannot be made is a fault that names it', async (t) => {
  const path = join(t.testdir({ file: '' }), 'file', '1')
  await t.rejects(land(path, Buffer.from('a\n')), { name: 'Fault', detail: new RegExp(path) })
})

t.test('a chunk that nobody has touched since it was written need not be read, once', async (t) => {
  const folder = join(t.testdir(), '8')
  const { chunks } = await land(folder, Buffer.from(`${rowsOf(60_000)}\n`))
  const [first, second, third, fourth] = chunks.map((chunk) => ({
    ...chunk,
    path: join(folder, chunkName(chunk.chunk)),
  }))
  if (!(first && second && third && fourth)) throw new Error('too few chunks')
  t.equal(await isAsWritten(first.path, first), true)
  t.equal(await isAsWritten(first.path, first), false, 'another attempt reads it')
  writeFileSync(second.path, readFileSync(second.path, 'latin1').replace('M', 'N'))
  utimesSync(second.path, new Date(0), new Date(0))
  t.equal(await isAsWritten(second.path, second), false)
  writeFileSync(`${third.path}.other`, readFileSync(third.path))
  renameSync(`${third.path}.other`, third.path)
  t.equal(await isAsWritten(third.path, third), false, 'the same bytes in another file')
  const expected = { ...fourth, crc32: fourth.crc32 + 1 }
  t.equal(await isAsWritten(fourth.path, expected), false, 'other bytes than the job is about')
  t.equal(await isAsWritten(join(folder, 'none'), first), false)
})

import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { measure } from '../../../pipeline/usage/measure/measure.js'
import type { SeenTimestamps } from '../../../pipeline/usage/timestamps.js'
import { randomFrom } from '../../rig/sample.js'

const unseen: SeenTimestamps = { see: () => undefined, hadRepeats: () => false, fresh: () => [] }
const formatOf = (text: string) => measure(Buffer.from(text), unseen).format
/** The same bytes, at a place in memory from which they cannot be read as words. */
const unaligned = (text: string) => Buffer.from(`x${text}`).subarray(1)
/** The odd text at each of the four places in a word of the scan. */
const placed = (odd: string) =>
  [0, 1, 2, 3].map((pad) => `${'x'.repeat(pad)},S,A${odd}B,3/4/2024,1\n`)

t.test('only a chunk whose bytes prove its identifiers is plain', async (t) => {
  for (const text of placed('')) {
    t.equal(formatOf(text), 'plain')
    t.equal(formatOf(text.replaceAll('\n', '\r\n')), 'plain')
  }
  const controls = [...Array(0x20).keys(), ...Array.from({ length: 33 }, (_, at) => 0x7f + at)]
  const odd = [...controls.map((code) => String.fromCharCode(code)), '\ufeff', '=', '@', '+']
  for (const one of odd) {
    if (one === '\n' || one === '"') continue
    for (const text of placed(one)) t.equal(formatOf(text), 'lines', JSON.stringify(text))
  }
})

t.test('a chunk with a row that is too long is not for the engine', async (t) => {
  const bytesMax = 40
  const texts = [
    'A,S,M,#3/4/2024,1',
    'A,S,M,3/4/2024,1,#',
    '"A"#,S,M,3/4/2024,1',
    '"A"#,S,é,3/4/2024,1',
  ]
  for (const text of texts) {
    const extraColumns = text.split(',').length - 5
    for (const end of ['\n', '\r\n', '']) {
      const odd = (more: number) => {
        const row = text.replace('#', ' '.repeat(bytesMax + 1 + more - Buffer.byteLength(text)))
        const rows = ['A,S,M,3/4/2024,1'.padEnd(16 + extraColumns, ','), row].join('\n') + end
        return measure(Buffer.from(rows), unseen, { extraColumns, rowBytesMax: bytesMax }).format
      }
      t.not(odd(0), 'unsplittable', text)
      t.equal(odd(1), 'unsplittable', text)
    }
  }
})

t.test('fine print is found anywhere in a large chunk', async (t) => {
  const row = `A,S,${'7'.repeat(30)},3/4/2024,1\n`
  const text = row.repeat(17_200)
  t.equal(formatOf(text), 'plain')
  for (const edge of [262_144, 786_432]) {
    for (const at of [edge - 2, edge - 1, edge]) {
      const odd = `${text.slice(0, at)} ,${text.slice(at + 2)}`
      t.equal(formatOf(odd), 'lines', `a blank at ${at}`)
    }
  }
})

t.test(
  'a minus before the first identifier of a row is seen, that of a quantity is not',
  async (t) => {
    t.equal(formatOf('A,S,M,3/4/2024,-1\n'), 'plain')
    t.equal(formatOf('A,S,M,3/4/2024,1\n-A,S,M,3/4/2024,1\n'), 'lines')
  },
)

t.test('line ends are found at every place, beside other controls and at the end', async (t) => {
  let texts = ['']
  for (let length = 1; length <= 6; length++) {
    texts = texts.flatMap((text) => ['\n', '\r', '\t', ' ', '1'].map((one) => text + one))
    for (const text of texts) {
      const parts = text.split('\n')
      const lines = parts.length - (text.endsWith('\n') ? 1 : 0)
      const rows = parts.filter((part) => part !== '' && part !== '\r').length
      const isCounted = [Buffer.from(text), unaligned(text)].every((bytes) => {
        const found = measure(bytes, unseen)
        return found.lines === lines && found.rows === rows
      })
      if (!isCounted) t.fail(JSON.stringify(text))
    }
  }
  for (const text of placed('\x01')) t.equal(measure(unaligned(text), unseen).format, 'lines')
  for (const text of placed('')) t.equal(measure(unaligned(text), unseen).format, 'plain')
})

/** Rows that are not plain and add up to nothing: with them the others are counted line by line. */
const oddRows = '=,,,,0.01\n=,,,,-0.01\n'

t.test('plain rows are counted as line by line, whatever their bytes', async (t) => {
  const draw = randomFrom(20_261_126)
  const random = (most: number) => Math.floor(draw() * most)
  const pick = (...texts: string[]) => texts[random(texts.length)] as string
  let plain = 0
  for (let round = 0; round < 4_000; round++) {
    const places = random(4)
    const extraColumns = random(8) === 0 ? 1 : 0
    const quantity = () =>
      `${pick('', '', '-')}${random(10 ** random(8))}.${String(random(10 ** places)).padStart(places, '0')}`
    let text = ''
    for (let row = random(40); row >= 0; row--) {
      const whole = `A${random(1e6)},S,M${random(99)},3/4/2024 ${random(24)}:00`
      text += `${whole},${places === 0 ? random(100) : quantity()}${',x'.repeat(extraColumns)}`
      text += pick('\n', '\n', '\n', '\r\n', round % 3 === 0 ? '\n\n' : '\n')
    }
    if (random(3) === 0) {
      const at = random(text.length)
      const odd = pick('\r', ' ', '-', '=', '+', '.', ',', 'é', '\t', '7', '\x7f', 'e-')
      text = text.slice(0, at) + odd + text.slice(at + random(2))
    }
    const rules = { extraColumns, rowBytesMax: 120 }
    const found = measure(Buffer.from(text), unseen, rules)
    if (found.format !== 'plain') continue
    plain++
    const odd = measure(Buffer.from(oddRows + text), unseen, rules)
    const expected = { ...odd, lines: odd.lines - 2, rows: odd.rows - 2, format: 'plain' }
    // With two decimals, like the odd rows, they are the same too.
    const decimals = places === 2 ? expected.decimals : found.decimals
    if (!isDeepStrictEqual(found, { ...expected, decimals })) t.fail(JSON.stringify(text))
  }
  t.ok(plain > 1_000, `${plain} were plain`)
})

t.test(
  'a sum and sampled rows are exact over many blocks, and a cut last row pads nothing',
  async (t) => {
    const rows = Array.from({ length: 60_000 }, (_, at) => {
      return `ACCOUNT${at % 977},S,M${at % 31},3/4/2024 ${at},${at % 2 === 0 ? '' : '-'}${at}.5`
    })
    const seen: string[] = []
    const see = (text: string) => void seen.push(text)
    const found = measure(Buffer.from(`${rows.join('\n')}\n8,S,M,3/4/2024,9999999.10`), {
      ...unseen,
      see,
    })
    t.equal(found.format, 'plain')
    t.equal(found.rows, 60_001)
    t.equal(found.lines, 60_001)
    t.equal(found.micros, 9_999_999_100_000n - 30_000_000_000n)
    t.same(found.decimals, { count: 0, padded: false })
    const wanted = rows.flatMap((_, at) => (at < 200 || at % 101 === 0 ? [`3/4/2024 ${at}`] : []))
    t.same(seen, wanted)
  },
)

t.test('the largest sums of a block do not overflow', async (t) => {
  const row = ',9999999.999999\n'
  for (const [one, format] of [
    [row, 'plain'],
    [`1${row}`, 'plain'],
    [',10000000.5\n', 'lines'],
    [',0.1234567\n', 'lines'],
    [',1.\n', 'lines'],
    [',.\n', 'lines'],
  ] as const) {
    t.equal(formatOf(one.repeat(40_000)), format, one)
  }
  t.equal(measure(Buffer.from(row.repeat(80_000)), unseen).micros, 9_999_999_999_999n * 80_000n)
})

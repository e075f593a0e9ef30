import t from 'tap'
import { measure } from '../../../pipeline/usage/measure.js'
import type { SeenTimestamps } from '../../../pipeline/usage/timestamps.js'

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

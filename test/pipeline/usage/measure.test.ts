import t from 'tap'
import { measure } from '../../../pipeline/usage/measure.js'
import type { SeenTimestamps } from '../../../pipeline/usage/timestamps.js'

const unseen: SeenTimestamps = { see: () => undefined, hadRepeats: () => false, fresh: () => [] }
const formatOf = (text: string) => measure(Buffer.from(text), unseen).format
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

t.test(
  'a minus before the first identifier of a row is seen, that of a quantity is not',
  async (t) => {
    t.equal(formatOf('A,S,M,3/4/2024,-1\n'), 'plain')
    t.equal(formatOf('A,S,M,3/4/2024,1\n-A,S,M,3/4/2024,1\n'), 'lines')
  },
)

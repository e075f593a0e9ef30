import fc from 'fast-check'
import t from 'tap'
import type { SentRecord } from '../../../pipeline/formats/format.js'
import { Fault } from '../../../schemas/fault.js'
import { runs } from '../../rig/sample.js'
import { convert } from './convert.js'
import { layouts, type SentLayout } from './hostile-layouts.js'

const seed = Number(process.argv[2] ?? Date.now() & 0x7fffffff)
const numRuns = runs(120, 4_000)
t.comment(`seed ${seed}`)

const odd = [
  ...[
    '',
    ',',
    ';',
    '"',
    '""',
    '\r',
    '\n',
    '\n\n',
    '\r\n',
    ' ',
    '\t',
    '\0',
    '\uFEFF',
    '\u2028',
    'é',
  ],
  ...[
    '-',
    '.',
    ',5',
    '1e3',
    '0x10',
    '١',
    '９',
    '=1',
    'A',
    'N',
    'V',
    '100',
    '200,',
    '300,',
    '\n900\n',
  ],
  ...[
    '100,NEM12,202603020930,A,B\n',
    '400,1,48,N',
    '<!--',
    '</entry>',
    '<![CDATA[',
    '&lt;',
    '<!DOCTYPE a>',
    '20260229',
    '7',
    '9'.repeat(5_000),
    ','.repeat(5_000),
  ],
]
const strike = fc.record({
  kind: fc.constantFrom('insert', 'remove', 'cut', 'double', 'swap', 'byte'),
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  to: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  text: fc.constantFrom(...odd),
  byte: fc.nat(255),
})
type Strike = typeof strike extends fc.Arbitrary<infer T> ? T : never

/** A file after one more mistake of its sender or of the transfer. */
function damage(file: Buffer, { kind, at, to, text, byte }: Strike): Buffer {
  const place = Math.floor(at * (file.length + 1))
  const bytes = (...parts: readonly (Buffer | string)[]) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as Buffer)))
  if (kind === 'insert') return bytes(file.subarray(0, place), text, file.subarray(place))
  if (kind === 'remove') {
    return bytes(file.subarray(0, place), file.subarray(place + Math.floor(to * 60)))
  }
  if (kind === 'cut') return file.subarray(0, place)
  if (kind === 'byte')
    return bytes(file.subarray(0, place), Buffer.of(byte), file.subarray(place + 1))
  const lines = file.toString('latin1').split('\n')
  const [from, into] = [at, to].map((part) => Math.floor(part * lines.length)) as [number, number]
  const [line = ''] = kind === 'swap' ? lines.splice(from, 1) : [lines[from]]
  lines.splice(into, 0, line)
  return Buffer.from(lines.join('\n'), 'latin1')
}

type Found = Awaited<ReturnType<typeof convert>> | Fault

/** A refusal is a fault that says why; any other error is a defect. */
async function read(file: Buffer, layout: SentLayout, size: number): Promise<Found> {
  try {
    return await convert(file, layout, size)
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}

const part = '("(?:[^"]|"")*"|[^",]*)'
const plain = new RegExp(`^${part},${part},${part},${part},([^,]*),\\d+,[ES]?$`)

/** What a record says of reads is there in its line, in this order: nothing is invented or moved. */
function problemOf(
  { raw, rows, count, refused }: SentRecord,
  { delimiter, hasLines, row = plain }: SentLayout,
): string {
  const texts = rows.split('\n').slice(0, -1)
  if (texts.length !== count) return `${texts.length} rows of ${count}`
  if (refused !== undefined) return count === 1 ? '' : 'more than one row of a refused record'
  const sent = raw.split(delimiter).map((field) => field.replaceAll('"', '').trim())
  let from = 0
  for (const text of texts) {
    const quantity = row.exec(text)?.[5]
    if (quantity === undefined) return `not a plain row: ${text}`
    if (quantity === '' || quantity === '?') continue
    if (hasLines === false) continue
    const size = quantity.replace(/^-/, '')
    const at = sent.findIndex(
      (field, index) => index >= from && field.replace(',', '.').replace(/^-/, '') === size,
    )
    if (at === -1) return `${quantity} is not in its place: ${raw}`
    from = at + 1
  }
  return ''
}

const marketSeconds = 10 * 3_600

/** A 300 record has the day that it names, and the register of the usable 200 record before it. */
function strayOf(records: readonly SentRecord[]): string | undefined {
  let meter: string | undefined
  for (const { raw, rows, count, refused } of [...records].sort((a, b) => a.line - b.line)) {
    const [kind, second = '', , , register = ''] = raw.split(',').map((field) => field.trim())
    if (kind === '100') meter = undefined
    if (kind === '200')
      meter = refused === undefined ? `${second}-${register.toUpperCase()}` : undefined
    if (kind !== '300' || refused !== undefined || count === 0) continue
    if (meter === undefined) return `reads without a register: ${raw}`
    for (const row of rows.split('\n').slice(0, -1)) {
      const time = plain.exec(row)?.[4] ?? ''
      const at = Date.parse(time) + marketSeconds * 1_000
      const day = new Date(at).toISOString().slice(0, 10).replaceAll('-', '')
      const isOwn = /["]/.test(meter) || row.includes(`,${meter},`)
      if (day !== second || !isOwn) return `not of ${meter} on ${second}: ${row}`
    }
  }
  return undefined
}

for (const [name, layout] of Object.entries(layouts)) {
  t.test(`a damaged file is refused or read as it is, in any pieces: ${name}`, async (t) => {
    const whole = Buffer.from(layout.lines.join('\n'))
    let good = 0
    const property = fc.asyncProperty(
      fc.array(strike, { maxLength: 4 }),
      fc.integer({ min: 1, max: 300 }),
      async (strikes, size) => {
        const file = strikes.reduce(damage, whole)
        const [found, again] = [await read(file, layout, 65_536), await read(file, layout, size)]
        // Of two mistakes the one that is seen first is named.
        if (found instanceof Fault || again instanceof Fault) {
          return found instanceof Fault && again instanceof Fault
        }
        const { records, plain, ending } = found
        if (plain !== again.plain || ending.cut !== again.ending.cut) return false
        const lines = file.toString('utf8').split('\n')
        const count = lines.at(-1) === '' ? lines.length - 1 : lines.length
        const seen = new Set(records.map(({ line }) => line))
        if (layout.hasLines !== false && (seen.size !== count || records.length !== count))
          throw new Error(`${seen.size} of ${count} lines`)
        const problem =
          records.map((one) => problemOf(one, layout)).find(Boolean) ??
          (name === 'nem12' ? strayOf(records) : undefined)
        if (problem !== undefined) throw new Error(problem)
        good++
        return true
      },
    )
    await fc.assert(property, { seed, numRuns })
    t.ok(good > numRuns / 20, `${good} of ${numRuns} files were read`)
  })
}

t.test('nothing is read of another format behind the first', async (t) => {
  for (const [name, layout] of Object.entries(layouts)) {
    const own = layout.lines.join('\n')
    const whole = await read(Buffer.from(own), layout, 65_536)
    for (const [other, { lines }] of Object.entries(layouts)) {
      if (other === name) continue
      const found = await read(Buffer.from(`${own}${lines.join('\n')}`), layout, 65_536)
      if (found instanceof Fault || whole instanceof Fault) {
        t.equal((found as Fault).code, 'HEADER', `${name}, ${other}`)
        continue
      }
      const behind = found.records.slice(whole.records.length)
      t.ok(found.plain.startsWith(whole.plain), `${name}, ${other}`)
      t.ok(behind.length > 0 && behind.every(({ refused, raw }) => refused || raw === ''), other)
    }
  }
})

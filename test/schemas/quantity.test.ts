import fc from 'fast-check'
import { test } from 'tap'
import { formatQuantity, parseQuantity, parseTotal } from '../../schemas/quantity.js'
import { sampled } from './sampled.js'

const grammar = /^-?(\d+(\.\d+)?|\.\d+)$/

/** All texts of up to `length` characters over the characters that matter. */
function* texts(length: number): Generator<string> {
  yield ''
  if (length === 0) return
  for (const rest of texts(length - 1)) for (const letter of '059.-+e ') yield letter + rest
}

test('a quantity is read where the grammar says so, and nowhere else', async (t) => {
  const wrong = [...texts(5)].filter(
    (text) => (parseQuantity(text) !== undefined) !== grammar.test(text),
  )
  t.same(wrong, [])
  for (const text of [
    'inf',
    'nan',
    'NaN',
    'Infinity',
    '0x10',
    '1_000',
    '1,5',
    '1e3',
    '١',
    '1\n',
    '1 ',
  ])
    t.equal(parseQuantity(text), undefined, JSON.stringify(text))
})

test('a quantity of half a million digits is refused or read like any other', async (t) => {
  const zeros = '0'.repeat(500_000)
  t.equal(parseQuantity(`${zeros}x`), undefined)
  t.equal(parseQuantity(`${zeros}1.${zeros}5`)?.micros, 1_000_000n)
})

test('digits beyond the sixth decimal are rounded half to even and said to be lost', async (t) => {
  const rows: [string, bigint, boolean][] = [
    ['0.0000005', 0n, true],
    ['0.0000015', 2n, true],
    ['0.0000025', 2n, true],
    ['0.00000250000', 2n, true],
    ['0.00000250001', 3n, true],
    ['0.00000249999', 2n, true],
    ['-0.0000015', -2n, true],
    ['-0.0000005', 0n, true],
    ['1.0000000', 1_000_000n, false],
    ['0.9999995', 1_000_000n, true],
    ['26.125', 26_125_000n, false],
    ['.5', 500_000n, false],
    ['-0', 0n, false],
  ]
  for (const [text, micros, rounded] of rows) t.same(parseQuantity(text), { micros, rounded }, text)
})

test('a quantity that is read always fits twelve digits before the point', async (t) => {
  t.equal(parseQuantity('999999999999.999999')?.micros, 10n ** 18n - 1n)
  t.equal(parseQuantity('-999999999999.999999')?.micros, 1n - 10n ** 18n)
  t.equal(parseQuantity('0000000999999999999')?.micros, 999_999_999_999_000_000n)
  t.equal(parseQuantity('1000000000000'), undefined)
  t.equal(parseQuantity('999999999999.9999995'), undefined, 'rounding may not carry beyond it')
  t.equal(parseQuantity('999999999999.9999994')?.micros, 10n ** 18n - 1n)
})

test('every quantity survives being written and read', async (t) => {
  const micros = fc.bigInt({ min: 1n - 10n ** 18n, max: 10n ** 18n - 1n })
  sampled(
    t,
    fc.property(micros, (value) => {
      const text = formatQuantity(value)
      return (
        /^(-(?!0$))?(0|[1-9]\d*)(\.\d{0,5}[1-9])?$/.test(text) &&
        parseQuantity(text)?.micros === value
      )
    }),
  )
})

test('rounding never moves a quantity by more than half a millionth', async (t) => {
  const digits = fc.array(fc.nat(9), { minLength: 1, maxLength: 20 }).map((list) => list.join(''))
  sampled(
    t,
    fc.property(fc.nat(), digits, fc.boolean(), (whole, decimals, negative) => {
      const quantity = parseQuantity(`${negative ? '-' : ''}${whole}.${decimals}`)
      if (quantity === undefined) return false
      const scale = 10n ** 20n
      const exact = BigInt(whole) * scale + BigInt(decimals.padEnd(20, '0'))
      const off = (negative ? -quantity.micros : quantity.micros) * (scale / 1_000_000n) - exact
      const half = scale / 2_000_000n
      const even = quantity.micros % 2n === 0n
      return (
        off <= half &&
        off >= -half &&
        quantity.rounded === (off !== 0n) &&
        ((off !== half && off !== -half) || even)
      )
    }),
  )
})

test('a total of any file is read back, and nothing but the canonical spelling', async (t) => {
  const micros = fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n })
  sampled(
    t,
    fc.property(micros, (value) => parseTotal(formatQuantity(value)) === value),
  )
  t.equal(parseTotal('1.50'), 1_500_000n, 'trailing zeros of the store are read')
  for (const text of [
    '',
    '-',
    '1.',
    '.5',
    '01',
    '1e3',
    '1.0000001',
    '+1',
    ' 1',
    `1${'0'.repeat(32)}`,
  ])
    t.equal(parseTotal(text), undefined, text)
})

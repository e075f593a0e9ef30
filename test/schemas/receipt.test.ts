import fc from 'fast-check'
import { test } from 'tap'
import { formatQuantity } from '../../schemas/quantity.js'
import { balance, outcomeNames, type Receipt, receiptSchema } from '../../schemas/receipt.js'
import { sampled } from './sampled.js'

const rows = { read: 15, accepted: 1, duplicate: 2, superseded: 3, rejected: 4, unregistered: 5 }
const quantity = {
  read: '1.5',
  accepted: '2',
  duplicate: '-1',
  superseded: '0.25',
  rejected: '0',
  unregistered: '0.25',
}
const whole: Receipt = {
  fileName: 'ILPC_08022018_Gas.csv',
  fileId: 'ab'.repeat(32),
  feed: 'Gas',
  status: 'published',
  rows,
  quantity,
  held: { rows: 0, quantity: '0' },
  restated: { rows: 1, netQuantity: '-0.000001' },
  meters: 2,
  firstIntervalStart: '2018-02-07T05:00:00Z',
  lastIntervalEnd: '2018-02-08T05:00:00Z',
  timestampFormat: 'slashDate',
  dateOrder: 'MDY',
  dateOrderProof: '1/31/2018',
  repeatedHourRows: 0,
  ambiguousHourRows: 0,
  roundedRows: 1,
  notes: ['the last row has no line end'],
  receivedAt: '2018-02-08T06:00:00.123Z',
  publishedAt: '2018-02-08T06:00:01Z',
  seconds: 0.9,
}

test('a receipt survives its file, with all fields or only those of a refused name', async (t) => {
  t.strictSame(receiptSchema.parse(JSON.parse(JSON.stringify(whole))), whole)
  const { fileName, receivedAt } = whole
  const zero = { read: 0, accepted: 0, duplicate: 0, superseded: 0, rejected: 0, unregistered: 0 }
  const refused = {
    fileName,
    receivedAt,
    fileId: null,
    feed: null,
    status: 'quarantined',
    reason: 'FILE_NAME: no',
    rows: zero,
  }
  t.strictSame(receiptSchema.parse(refused), refused)
})

test('a receipt with a field too many, too few or out of its type is none', async (t) => {
  const wrong = [
    { extra: 1 },
    { fileId: 'AB' },
    { feed: 'Water' },
    { status: 'loading' },
    { rows: { read: 1 } },
    { rows: { ...rows, accepted: -1 } },
    { rows: { ...rows, accepted: 0.5 } },
    { receivedAt: 'today' },
    { receivedAt: '2018-02-08T06:00:00-05:00' },
    { quantity: { ...quantity, read: '1e3' } },
    { quantity: { ...quantity, read: 1.5 } },
    { fileName: undefined },
    { seconds: -1 },
    { status: 'quarantined' },
    { status: 'duplicate' },
  ]
  for (const change of wrong)
    t.notOk(receiptSchema.safeParse({ ...whole, ...change }).success, JSON.stringify(change))
})

test('a receipt balances when nothing is missing or counted twice, and only then', async (t) => {
  const five = <T>(value: fc.Arbitrary<T>) => fc.tuple(value, value, value, value, value)
  const micros = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n })
  const off = fc.constantFrom(-1, 0, 0, 0, 1)
  const named = <T>(read: T, values: readonly T[]) => ({
    read,
    ...Object.fromEntries(outcomeNames.map((name, index) => [name, values[index]])),
  })
  sampled(
    t,
    fc.property(five(fc.nat(1e9)), five(micros), off, off, (counts, sums, rowsOff, microsOff) => {
      const read = counts.reduce((sum, count) => sum + count, rowsOff)
      if (read < 0) return true
      const total = sums.reduce((sum, value) => sum + value, BigInt(microsOff))
      const receipt = receiptSchema.parse({
        ...whole,
        rows: named(read, counts),
        quantity: named(formatQuantity(total), sums.map(formatQuantity)),
      })
      return balance(receipt) === (rowsOff === 0 && microsOff === 0)
    }),
  )
})

test('a feed without quantities balances by its rows alone', async (t) => {
  for (const none of [{ rows }, { rows, quantity: null }]) t.equal(balance(none), true)
  t.equal(balance({ rows: { ...rows, read: 14 } }), false)
  t.equal(balance({ rows, quantity: { ...quantity, read: '-0.5', accepted: 'x' } }), false)
})
